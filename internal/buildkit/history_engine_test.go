package buildkit_test

import (
	"encoding/json"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// A step that writes nothing makes a layer too, and each layer has one entry.
func TestHistoryIsThatOfTheLayers(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "six.lock")
	request.Spec.Files = []environment.File{{Path: "/opt/a/b", Mode: "0644", Content: []byte("b")}, {Path: "/opt/a/c", Mode: "0600", Content: []byte("c")}}
	request.Spec.PostInstall = []environment.Command{{Command: "true"}, {Command: "echo x > y"}}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var config ocispec.Image
	if err := json.Unmarshal(published.Image.Configs[environment.DefaultPlatform].Raw, &config); err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, entry := range config.History {
		if entry.EmptyLayer {
			t.Errorf("%q is marked as if it had no layer", entry.CreatedBy)
		}
		entries = append(entries, entry.CreatedBy)
	}
	layers := published.Image.Layers[environment.DefaultPlatform]
	if len(entries) != len(layers) || len(entries) != len(config.RootFS.DiffIDs) || entries[len(entries)-1] != "post_install[1]: echo x > y" {
		t.Errorf("%d layers have the history %q", len(layers), entries)
	}
}
