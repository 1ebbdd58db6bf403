package provider_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

func TestCLI_ReplaceOfUnchangedInputsKeepsOneImage(t *testing.T) {
	s := newStack(t)
	c := s.newCLI(t)
	c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
	c.apply()
	before := c.only()
	c.apply("-replace=" + address)
	after := c.only()
	if before.Attributes["tag"] == after.Attributes["tag"] {
		t.Errorf("the tag %v is that of the image before", after.Attributes["tag"])
	}
	s.holdsOnly(t, after)
	c.planIsEmpty()
	c.destroy(s)
	c.noFilesLeft()
}

func TestCLI_MovedResourceIsOnlyLookedAt(t *testing.T) {
	s := newStack(t)
	c := s.newCLI(t)
	config := s.config(fmt.Sprintf(content, "a"))
	c.write("main.tf", config)
	c.apply()
	before := c.only()
	c.write("main.tf", strings.Replace(config, `"datalayer_environment" "e"`, `"datalayer_environment" "other"`, 1)+`
moved {
  from = datalayer_environment.e
  to   = datalayer_environment.other
}
`)
	s.registry.ResetRequests()
	c.apply().says(t, "datalayer_environment.e has moved to datalayer_environment.other", "0 added, 0 changed, 0 destroyed")
	c.planIsEmpty()
	s.onlyHeads(t)
	s.holdsOnly(t, before)
	c.destroy(s)
}

// A deposed object keeps its own policy, so the error of its destroy tells another way out, which the guide has too.
func TestCLI_DeposedImageThatMayNotBeDeletedIsForgotten(t *testing.T) {
	s := newStack(t)
	s.breakWith(refusing(http.MethodDelete, "/manifests/", http.StatusMethodNotAllowed, ociError("UNSUPPORTED", "The operation is unsupported.")))()
	c := s.newCLI(t)
	c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
	c.apply()
	first := c.only()
	retained := s.config(fmt.Sprintf(content, "b") + "\n  deletion_policy = \"retain\"")
	c.write("main.tf", retained)
	refused := c.expect(1, "apply", "-auto-approve")
	for _, part := range []string{"Registry does not allow images to be deleted", "deposed object", "state rm", "terraform import"} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(refused.stderr, "│", "")), " "), part) {
			t.Errorf("the error does not say %q:\n%s", part, refused.stderr)
		}
	}
	c.expect(1, "apply", "-auto-approve") // The policy that is configured now does not reach the deposed object.
	var second instance
	for _, one := range c.instances() {
		if one.Attributes["digest"] != first.Attributes["digest"] {
			second = one
		}
	}
	c.expect(0, "state", "rm", address)
	c.expect(0, "import", address, fmt.Sprint(second.Attributes["reference"]))
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	c.planIsEmpty()
	if now := c.only(); now.Attributes["digest"] != second.Attributes["digest"] || now.Attributes["tag"] != second.Attributes["tag"] {
		t.Errorf("state has %v, want the new image %v", now.Attributes["reference"], second.Attributes["reference"])
	}
	c.expect(0, "destroy", "-auto-approve")
	var left []string
	for _, one := range []instance{first, second} {
		left = append(left, fmt.Sprintf("team/env:%v", one.Attributes["tag"]), fmt.Sprintf("team/env@%v", one.Attributes["digest"]))
	}
	must(t, s.left(t, left...))
}

// A refresh does not look into an index. The guide says what does, and how to mend one.
func TestCLI_DataSourceTellsOfAnIndexThatLostItsImage(t *testing.T) {
	s := newStack(t)
	c := s.newCLI(t)
	config := s.config(`attestations = { sbom = false }`)
	looking := config + `
data "datalayer_image" "e" {
  image = datalayer_environment.e.reference
}
`
	platform := func() string {
		manifests, _ := c.instances()[0].Attributes["manifests"].(map[string]any) // The data source and the resource have the same.
		return fmt.Sprint(manifests["linux/amd64"])
	}
	c.write("main.tf", looking)
	c.apply()
	c.planIsEmpty()
	manifest := platform()
	must(t, s.images().Delete(t.Context(), s.target(t), manifest))
	c.write("main.tf", config)
	c.planIsEmpty()
	c.write("main.tf", looking)
	refused := c.expect(1, "plan")
	if !strings.Contains(refused.stderr, "the image is incomplete") {
		t.Errorf("the error does not say that the image is incomplete:\n%s", refused.stderr)
	}
	c.apply("-replace=" + address)
	if now := platform(); now != manifest {
		t.Errorf("the image built again is %s, want the same content %s", now, manifest)
	}
	c.planIsEmpty()
	c.destroy(s)
}

// Nobody, root included, can make a file in /proc, so there it cannot be helped by one.
func TestCLI_BuildsWithoutHomeAndTools(t *testing.T) {
	for name, home := range map[string]string{"home is read-only": "/proc", "home is not set": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t)
			c := s.newCLI(t)
			c.env["PATH"] = ""
			delete(c.env, "HOME")
			if home != "" {
				c.env["HOME"] = home
			}
			c.write("main.tf", s.config(fmt.Sprintf(content, "a")))
			c.apply()
			c.planIsEmpty()
			c.destroy(s)
			c.noFilesLeft()
		})
	}
}

func TestCLI_ExamplesAreValid(t *testing.T) {
	root, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for _, file := range filesBelow(t, root) {
		if filepath.Ext(file) == ".tf" {
			folders[filepath.Dir(file)] = true
		}
	}
	if len(folders) == 0 {
		t.Fatalf("no examples below %s", root)
	}
	for folder := range folders {
		name, err := filepath.Rel(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			c := newCLI(t)
			c.dir = t.TempDir()
			if err := os.CopyFS(c.dir, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			const identity = "import-by-identity.tf"
			if _, err := os.Stat(filepath.Join(c.dir, identity)); err == nil {
				if version, ok := c.isAtLeast(1, 12); !ok {
					enginetest.Figure(t, "%s NOT RUN: it needs a CLI >= 1.12, and this one has %s", identity, version)
					must(t, os.Remove(filepath.Join(c.dir, identity)))
				}
			}
			c.expect(0, "validate")
		})
	}
}

// only gives the one instance in state, which is whole.
func (c *cli) only() instance {
	c.t.Helper()
	all := c.instances()
	if len(all) != 1 || all[0].Status != "" {
		c.t.Fatalf("in state: %v, want one instance that is not tainted", all)
	}
	return all[0]
}

// holdsOnly checks that the registry has the instance's tag and manifest and nothing else.
func (s *stack) holdsOnly(t *testing.T, i instance) {
	t.Helper()
	_, path, _ := strings.Cut(s.repository, "/")
	want := append(s.manifestsOf(t, path, fmt.Sprint(i.Attributes["digest"])), path+":"+fmt.Sprint(i.Attributes["tag"]))
	if err := s.left(t, want...); err != nil {
		t.Error(err)
	}
}
