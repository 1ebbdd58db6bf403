package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/datalayer/terraform-provider-datalayer/internal/"

// lines are the rooms from the surface down. A room may import any room on a later line, none on its own or above.
// Rooms that later variants bring have their place already, so that nobody has to guess it.
var lines = [][]string{
	{"provider"},
	{"sweep", "conformance", "resolve"},
	{"buildkit", "e2b", "daytona", "modal", "ecr"},
	{"sandbox"},
	{"jupyter", "credential", "doctor"},
	{"image"},
	{"base"},
	{"environment"},
	{"lock", "reference"},
	{"problem", "secret", "retry", "lazyregexp", "steps", "childprocess"},
}

// workshops hold tools of tests, of developers, and for images (sbom). They may import any room; no room imports them.
var workshops = []string{"enginetest", "awstest", "demo", "bench", "sbom"}

func lineOf(room string) int {
	return slices.IndexFunc(lines, func(rooms []string) bool { return slices.Contains(rooms, room) })
}

func TestRoomsImportOnlyDownwards(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		room := entry.Name()
		if !entry.IsDir() || slices.Contains(workshops, room) {
			continue
		}
		if lineOf(room) < 0 {
			t.Errorf("internal/%s is on no line: say in lines, in the README and in the design where it belongs", room)
			continue
		}
		for imported, file := range imports(t, room) {
			switch {
			case imported == room:
			case slices.Contains(workshops, imported):
				t.Errorf("%s imports %s, which is for tests and developers only", file, imported)
			case lineOf(imported) <= lineOf(room):
				t.Errorf("%s imports %s, which is not below %s", file, imported, room)
			}
		}
	}
}

func TestEnginesKnowNothingOfTerraform(t *testing.T) {
	for _, rooms := range lines[1:] {
		for _, room := range rooms {
			if _, err := os.Stat(room); err != nil {
				continue
			}
			for imported, file := range foreign(t, room) {
				if strings.HasPrefix(imported, "github.com/hashicorp/terraform-plugin-") {
					t.Errorf("%s imports %s: only the provider room knows Terraform", file, imported)
				}
			}
		}
	}
}

func TestSurfaceSpeaksToNoService(t *testing.T) {
	for imported, file := range foreign(t, "provider") {
		for _, client := range []string{"net/http", "google.golang.org/grpc", "github.com/moby/buildkit", "oras.land/oras-go"} {
			if imported == client || strings.HasPrefix(imported, client+"/") {
				t.Errorf("%s imports %s: the surface wires engines, which speak to services", file, imported)
			}
		}
	}
}

// imports gives the rooms that the room's own files import, each with a file that does.
func imports(t *testing.T, room string) map[string]string {
	found := map[string]string{}
	for path, file := range foreign(t, room) {
		if inside, ok := strings.CutPrefix(path, module); ok {
			name, _, _ := strings.Cut(inside, "/")
			found[name] = file
		}
	}
	return found
}

// foreign gives all import paths of the room's own files (tests aside), each with a file that has it.
func foreign(t *testing.T, room string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[name] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
