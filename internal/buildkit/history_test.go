package buildkit

import (
	"encoding/json"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestEveryLayerHasItsHistory(t *testing.T) {
	r := fullRecipe(t)
	for name, tt := range map[string]struct {
		base string
		want []string
	}{
		"complete":     {`{"rootfs":{"diff_ids":["a","b"]},"history":[{"created_by":"one","x":1},{"created_by":"set","empty_layer":true},{"created_by":"two"}]}`, []string{"one", "set", "two"}},
		"none":         {`{"rootfs":{"diff_ids":["a","b"]}}`, []string{"layer of the base", "layer of the base"}},
		"half":         {`{"rootfs":{"diff_ids":["a","b"]},"history":[{"created_by":"one"}]}`, []string{"one", "layer of the base"}},
		"of no layers": {`{"rootfs":{"diff_ids":[]},"history":[{"created_by":"set","empty_layer":true}]}`, []string{"set"}},
	} {
		t.Run(name, func(t *testing.T) {
			r.baseConfig = []byte(tt.base)
			text, err := r.imageConfig()
			if err != nil {
				t.Fatal(err)
			}
			var config ocispec.Image
			if err := json.Unmarshal(text, &config); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, entry := range config.History {
				got = append(got, entry.CreatedBy)
			}
			want := append(tt.want, r.content().layers()...)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if strings.Contains(tt.base, `"x":1`) && !strings.Contains(string(text), `"x":1`) {
				t.Errorf("a field of the base is gone: %s", text)
			}
		})
	}
}

func TestHistoryOfLayersThatAreNotThereIsLeftAlone(t *testing.T) {
	r := fullRecipe(t)
	r.baseConfig = []byte(`{"rootfs":{"diff_ids":[]},"history":[{"created_by":"one"}]}`)
	text, err := r.imageConfig()
	if err != nil || strings.Count(string(text), "created_by") != 1 {
		t.Errorf("got %s, %v", text, err)
	}
}
