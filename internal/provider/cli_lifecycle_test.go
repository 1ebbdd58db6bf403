package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
