package buildkit

import (
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// addHistory gives every layer of the image its entry in the config's history. The exporter would write entries by itself,
// but of what the daemon did: a step that came from a cache in a registry would be another text, and so another image.
func (r recipe) addHistory(document map[string]json.RawMessage) error {
	var entries []json.RawMessage
	var rootFS ocispec.RootFS
	for name, into := range map[string]any{"history": &entries, "rootfs": &rootFS} {
		if raw, ok := document[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s in the config of %s: %w", name, r.request.Base, err)
			}
		}
	}
	missing := len(rootFS.DiffIDs)
	for _, raw := range entries {
		var entry ocispec.History
		if err := json.Unmarshal(raw, &entry); err != nil {
			return fmt.Errorf("history in the config of %s: %w", r.request.Base, err)
		}
		if !entry.EmptyLayer {
			missing--
		}
	}
	if missing < 0 {
		return nil // It tells of layers that are not there, so nothing can be said of ours.
	}
	texts := r.content().layers()
	for range missing {
		texts = append([]string{"layer of the base"}, texts...)
	}
	for _, text := range texts {
		encoded, err := json.Marshal(ocispec.History{Created: &epoch, CreatedBy: text})
		if err != nil {
			return err
		}
		entries = append(entries, encoded)
	}
	encoded, err := json.Marshal(entries)
	document["history"] = encoded
	return err
}
