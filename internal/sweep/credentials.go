package sweep

import (
	"context"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
)

// Credentials are what a store keeps, for Service.Leftovers.
func Credentials(ctx context.Context, store credential.Store) (all []Leftover, err error) {
	stored, err := store.List(ctx)
	for _, s := range stored {
		all = append(all, Leftover{
			What: "credential", ID: s.ID, Name: s.Name, ByHand: store.Removal(s),
			Remove: func(ctx context.Context) error { return store.Delete(ctx, s.ID) },
		})
	}
	return all, err
}
