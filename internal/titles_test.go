package internal_test

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// troubleshooting is where a person looks a title up.
const troubleshooting = "../templates/guides/troubleshooting.md.tmpl"

// unseen are titles that no user can meet, with the reason.
var unseen = map[string]string{
	"Image lookup failed":                                     "no shipped room calls Head",
	"Image tag could not be resolved":                         "whoever asks says what the image is for, by a title of its own above this one",
	"Image to delete is not named by a digest":                "state holds a digest",
	"Old tag could not be checked before its removal":         "the warning \"Old tag was kept\" quotes it",
	"Registry cannot remove a single tag":                     "a change of version and a destroy make a warning of their own of it",
	"Registry could not be used":                              "the image room gives problems alone",
	"Report of the doctor is not one":                         "make demo alone reads reports",
	"Tag or digest to put is not valid":                       "both are made by the provider",
	"E2B sandboxes could not be listed":                       "the error of a destroy quotes it",
	"Code in the E2B sandbox could not be run":                "no resource starts sandboxes yet",
	"Command in the E2B sandbox failed":                       "no resource starts sandboxes yet",
	"Context in the E2B sandbox could not be made":            "no resource starts sandboxes yet",
	"Context in the E2B sandbox could not be removed":         "no resource starts sandboxes yet",
	"Context in the E2B sandbox could not be restarted":       "no resource starts sandboxes yet",
	"Contexts in the E2B sandbox could not be listed":         "no resource starts sandboxes yet",
	"Directory in the E2B sandbox could not be listed":        "no resource starts sandboxes yet",
	"Directory in the E2B sandbox could not be made":          "no resource starts sandboxes yet",
	"E2B sandbox could not be connected to":                   "no resource starts sandboxes yet",
	"E2B sandbox could not be ended":                          "no resource starts sandboxes yet",
	"E2B sandbox could not be paused":                         "no resource starts sandboxes yet",
	"E2B sandbox could not be read":                           "no resource starts sandboxes yet",
	"E2B sandbox could not be started":                        "no resource starts sandboxes yet",
	"File in the E2B sandbox could not be read":               "no resource starts sandboxes yet",
	"File in the E2B sandbox could not be written":            "no resource starts sandboxes yet",
	"Health of the E2B sandbox could not be read":             "no resource starts sandboxes yet",
	"Health of the code-interpreter server could not be read": "no resource starts sandboxes yet",
	"Path in the E2B sandbox could not be looked at":          "no resource starts sandboxes yet",
	"Path in the E2B sandbox could not be moved":              "no resource starts sandboxes yet",
	"Path in the E2B sandbox could not be removed":            "no resource starts sandboxes yet",
	"Running E2B sandboxes could not be listed":               "no resource starts sandboxes yet",
	"Time of the E2B sandbox could not be set":                "no resource starts sandboxes yet",
}

func TestEachTitleIsInTroubleshooting(t *testing.T) {
	page, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(cells) == 2 {
			explained = append(explained, strings.Split(strings.TrimPrefix(cells[0], "| "), "; ")...)
		}
	}
	found := titles(t)
	for _, title := range slices.Sorted(maps.Keys(found)) {
		if _, ok := unseen[title]; ok {
			continue
		}
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(title), anything, ".+") + "$")
		if !slices.ContainsFunc(explained, pattern.MatchString) {
			t.Errorf("%s says %q, and no row of %s has it: add it there", found[title], strings.ReplaceAll(title, anything, "…"), troubleshooting)
		}
	}
	for _, title := range explained {
		said := func(pattern string) bool {
			return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), anything, ".+") + "$").MatchString(title)
		}
		if title != "Title" && !slices.ContainsFunc(slices.Collect(maps.Keys(found)), said) {
			t.Errorf("a row of %s has %q, which nothing says: remove it there", troubleshooting, title)
		}
	}
	for title := range unseen {
		if found[title] == "" {
			t.Errorf("unseen has %q, which nothing says", title)
		}
	}
}

// titles are what the rooms that the provider is made of put above a problem, each with a file that does.
func titles(t *testing.T) map[string]string {
	t.Helper()
	shipped := reached(t, "provider")
	files := map[string]map[string]*ast.File{}
	eachFile(t, func(path string, file *ast.File) {
		folder := filepath.Dir(path)
		if !shipped[folder] {
			return
		}
		if files[folder] == nil {
			files[folder] = map[string]*ast.File{}
		}
		files[folder][path] = file
	})
	found := map[string]string{}
	for _, room := range files {
		reader := titleReader{t: t, takers: map[string]int{}, found: found}
		for name, index := range map[string]int{"AddError": 0, "AddWarning": 0, "NewErrorDiagnostic": 0, "NewWarningDiagnostic": 0,
			"AddAttributeError": 1, "AddAttributeWarning": 1, "NewAttributeErrorDiagnostic": 1, "NewAttributeWarningDiagnostic": 1} {
			reader.takers[name] = index
		}
		for _, file := range room {
			reader.learn(file)
		}
		for path, file := range room {
			reader.path = path
			for _, declaration := range file.Decls {
				reader.read(declaration)
			}
		}
	}
	if len(found) < 100 {
		t.Fatalf("only %d titles were found: the reader does not see them", len(found))
	}
	return found
}

// reached are the folder of a package and those of all packages in here that it imports, through others too.
func reached(t *testing.T, folder string) map[string]bool {
	t.Helper()
	imported := map[string][]string{}
	eachFile(t, func(path string, file *ast.File) {
		for _, spec := range file.Imports {
			if inside, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module); ok {
				imported[filepath.Dir(path)] = append(imported[filepath.Dir(path)], filepath.FromSlash(inside))
			}
		}
	})
	folders := map[string]bool{folder: true}
	for next := []string{folder}; len(next) > 0; next = next[1:] {
		for _, one := range imported[next[0]] {
			if !folders[one] {
				folders[one] = true
				next = append(next, one)
			}
		}
	}
	return folders
}
