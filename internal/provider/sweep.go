package provider

import (
	"os"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

// Sweep is the command that removes what a killed run left. It has no provider configuration, so the environment alone
// gives it its settings; further services are those of tests.
func Sweep(version string, further ...sweep.Service) sweep.Program {
	return sweep.Program{
		Settings: []sweep.Setting{
			{Variable: credential.RegistriesVariable, Meaning: "logins of registries, as JSON, as the provider reads them"},
			{Variable: "DOCKER_CONFIG", Meaning: "the folder of the Docker configuration, for all other registries"},
		},
		Services: func(repositories []reference.Repository) ([]sweep.Service, error) {
			static, err := credential.ParseRegistries(os.Getenv(credential.RegistriesVariable))
			if err != nil {
				return nil, err
			}
			registry := image.New(image.Options{
				Credentials: credential.NewResolver(static), UserAgent: userAgent(version),
			})
			return append([]sweep.Service{sweep.Images(registry, repositories)}, further...), nil
		},
	}
}
