package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
)

// The states in testdata/state-v0 were written by the release that began schema version 0, each for the configuration
// of the same name; only the hosts were renamed, and for base-minimal the image that it was made on. None is ever changed: a release that wants to is told here what it breaks.
const stateFolder = "state-v0/"

func TestCLI_StateOfVersion0PlansNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/" + stateFolder + "*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("states of version 0: %v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			stateCLI(t, name, nil).planIsEmpty("-refresh=false")
		})
	}
}

func TestCLI_StateWithOddFieldsPlansNothing(t *testing.T) {
	tests := map[string]func(attributes map[string]any){
		"nulls are missing": func(attributes map[string]any) {
			maps.DeleteFunc(attributes, func(_ string, value any) bool { return value == nil })
		},
		"outputs that nothing is decided by are missing": func(attributes map[string]any) {
			for _, name := range []string{"built_at", "build_duration_seconds", "credential_expires_at", "media_type", "size_bytes", "manifests", "retained", "tag"} {
				delete(attributes, name)
			}
		},
		"the same are null": func(attributes map[string]any) {
			for _, name := range []string{"built_at", "build_duration_seconds", "credential_expires_at", "media_type", "size_bytes", "manifests", "retained", "tag"} {
				attributes[name] = nil
			}
		},
		"an attribute that this release does not know": func(attributes map[string]any) {
			attributes["of_a_later_release"] = map[string]any{"sbom": true}
		},
		"no expiry as an empty text": func(attributes map[string]any) { attributes["credential_expires_at"] = "" },
		"no tag as an empty text":    func(attributes map[string]any) { attributes["tag"] = "" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			c := stateCLI(t, "minimal", func(i *storedInstance) { change(i.Attributes) })
			c.planIsEmpty("-refresh=false")
		})
	}
}

// Content that cannot be compared is taken as it is, as after an import of an image without a key.
func TestCLI_StateWithoutCacheKeyIsUpdatedInPlace(t *testing.T) {
	for name, key := range map[string]any{"null": nil, "an empty text": ""} {
		t.Run(name, func(t *testing.T) {
			c := stateCLI(t, "minimal", func(i *storedInstance) { i.Attributes["cache_key"] = key })
			c.expect(2, "plan", "-detailed-exitcode", "-refresh=false").says(t, "0 to add, 1 to change, 0 to destroy")
		})
	}
}

// The default kernel lock of a base is kept by its digest, whatever this release ships.
func TestCLI_StateKeepsTheKernelLockOfAnotherRelease(t *testing.T) {
	c := stateCLI(t, "base-minimal", func(i *storedInstance) {
		text := func(name string) string { return fmt.Sprint(i.Attributes[name]) }
		other := "sha256:" + strings.Repeat("0", 64)
		i.Attributes["kernel_lock"], i.Attributes["kernel_lock_digest"] = nil, other
		i.Attributes["cache_key"] = base.Key{FromDigest: text("from_digest"), Python: text("python"), KernelLockDigest: other, DoctorDigest: text("doctor_digest"), Platforms: []string{"linux/amd64"}}.CacheKey()
	})
	c.planIsEmpty("-refresh=false")
	// Another base takes that of this release, and the plan shows it by its digest.
	o := c.expect(2, "plan", "-detailed-exitcode", "-refresh=false", "-replace="+baseAddress)
	if o.says(t, shippedKernelLock(t)); strings.Contains(o.stdout, "--hash") {
		t.Errorf("the plan shows the lock:\n%s", o.stdout)
	}
}

func TestCLI_StateOfANewerReleaseIsRefused(t *testing.T) {
	c := stateCLI(t, "minimal", func(i *storedInstance) { i.SchemaVersion = 1 })
	c.expect(1, "plan", "-refresh=false").says(t, "newer provider version", address)
	if len(c.instances()) != 1 {
		t.Errorf("state holds %v, want what it held", c.instances())
	}
}

// storedState is what a test needs of a state file to write it anew.
type storedState struct {
	Version   int    `json:"version"`
	Serial    int    `json:"serial"`
	Lineage   string `json:"lineage"`
	Resources []struct {
		Mode      string           `json:"mode"`
		Type      string           `json:"type"`
		Name      string           `json:"name"`
		Provider  string           `json:"provider"`
		Instances []storedInstance `json:"instances"`
	} `json:"resources"`
}

type storedInstance struct {
	SchemaVersion int            `json:"schema_version"`
	Attributes    map[string]any `json:"attributes"`
}

// stateCLI gives a CLI with one of the stored states and its configuration. change is given the resource instance.
func stateCLI(t *testing.T, name string, change func(*storedInstance)) *cli {
	t.Helper()
	c := newCLI(t)
	c.write("main.tf", testdata(t, stateFolder+name+".tf"))
	text := testdata(t, stateFolder+name+".json")
	if change != nil {
		var state storedState
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			t.Fatal(err)
		}
		change(&state.Resources[0].Instances[0])
		changed, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		text = string(changed)
	}
	c.write("terraform.tfstate", text)
	return c
}
