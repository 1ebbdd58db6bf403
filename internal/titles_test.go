package internal_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// troubleshooting is where a person looks a title up.
const troubleshooting = "../templates/guides/troubleshooting.md.tmpl"

// unseen are titles that no user can meet, with the reason.
var unseen = map[string]string{
	"Image lookup failed":                             "no shipped room calls Head",
	"Image tag could not be resolved":                 "whoever asks says what the image is for, by a title of its own above this one",
	"Image to delete is not named by a digest":        "state holds a digest",
	"Old tag could not be checked before its removal": "the warning \"Old tag was kept\" quotes it",
	"Registry cannot remove a single tag":             "a change of version and a destroy make a warning of their own of it",
	"Registry could not be used":                      "the image room gives problems alone",
	"Report of the doctor is not one":                 "make demo alone reads reports",
	"Tag or digest to put is not valid":               "both are made by the provider",
}

// fallbacks put their title above an error only where no room has explained it. The page says what to do of all of these.
var fallbacks = []string{"From", "appendProblems", "failed"}

// anything stands in a title for what is only known when it is said: "Tag of the \x00 moved".
const anything = "\x00"

// verb is one of fmt.
var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

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

// titleReader reads the titles of one package: of fields Title or title, and of calls of functions that take a
// parameter of that name.
type titleReader struct {
	t      *testing.T
	path   string
	takers map[string]int // name of a function → which argument is the title
	fields map[string]int // name of a struct → which field is the title
	texts  map[string][]ast.Expr
	found  map[string]string
}

// learn notes the functions of a package that take a title, the structs that have one, and the texts that have a name.
func (r *titleReader) learn(file *ast.File) {
	if r.fields == nil {
		r.fields, r.texts = map[string]int{}, map[string][]ast.Expr{}
	}
	for _, declaration := range file.Decls {
		switch declared := declaration.(type) {
		case *ast.FuncDecl:
			if index := position(declared.Type.Params, "title"); index >= 0 && !slices.Contains(fallbacks, declared.Name.Name) {
				r.takers[declared.Name.Name] = index
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				switch named := spec.(type) {
				case *ast.TypeSpec:
					if fields, ok := named.Type.(*ast.StructType); ok {
						if index := position(fields.Fields, "title"); index >= 0 {
							r.fields[named.Name.Name] = index
						}
					}
				case *ast.ValueSpec:
					for i, name := range named.Names {
						if i < len(named.Values) {
							r.texts[name.Name] = []ast.Expr{named.Values[i]}
						}
					}
				}
			}
		}
	}
}

// position is where a list of parameters or fields has a name, or -1.
func position(list *ast.FieldList, name string) int {
	at := 0
	for _, field := range list.List {
		for _, named := range field.Names {
			if named.Name == name {
				return at
			}
			at++
		}
	}
	return -1
}

// read notes the titles of one declaration. What it declares within itself is known in it alone.
func (r *titleReader) read(declaration ast.Decl) {
	inner := *r
	inner.takers, inner.texts = maps.Clone(r.takers), maps.Clone(r.texts)
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch within := node.(type) {
		case *ast.AssignStmt:
			for i, left := range within.Lhs {
				name, ok := left.(*ast.Ident)
				if !ok || len(within.Rhs) != len(within.Lhs) {
					continue
				}
				if function, ok := within.Rhs[i].(*ast.FuncLit); ok {
					if index := position(function.Type.Params, "title"); index >= 0 {
						inner.takers[name.Name] = index
					}
				}
				inner.texts[name.Name] = append(slices.Clone(inner.texts[name.Name]), within.Rhs[i])
			}
		case *ast.ValueSpec:
			for i, name := range within.Names {
				if i < len(within.Values) {
					inner.texts[name.Name] = []ast.Expr{within.Values[i]}
				}
			}
		}
		return true
	})
	ast.Inspect(declaration, func(node ast.Node) bool {
		switch within := node.(type) {
		case *ast.CallExpr:
			if index, ok := inner.takers[callee(within)]; ok && index < len(within.Args) {
				inner.note(within.Args[index])
			}
		case *ast.CompositeLit:
			inner.literal(within, within.Type)
		case *ast.AssignStmt:
			for i, left := range within.Lhs {
				if field, ok := left.(*ast.SelectorExpr); ok && field.Sel.Name == "Title" && i < len(within.Rhs) {
					inner.note(within.Rhs[i])
				}
			}
		}
		return true
	})
}

// callee is the name of a called function.
func callee(call *ast.CallExpr) string {
	switch function := call.Fun.(type) {
	case *ast.Ident:
		return function.Name
	case *ast.SelectorExpr:
		return function.Sel.Name
	}
	return ""
}

// literal notes the title of a struct literal, and those of its elements where their type is left out.
func (r *titleReader) literal(literal *ast.CompositeLit, of ast.Expr) {
	var element ast.Expr
	index := -1
	switch kind := of.(type) {
	case *ast.ArrayType:
		element = kind.Elt
	case *ast.MapType:
		element = kind.Value
	case *ast.StructType:
		index = position(kind.Fields, "title")
	case *ast.Ident:
		if at, ok := r.fields[kind.Name]; ok {
			index = at
		}
	}
	for i, value := range literal.Elts {
		if pair, ok := value.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok && element == nil && (key.Name == "Title" || key.Name == "title") {
				r.note(pair.Value)
			}
			value = pair.Value
		} else if i == index {
			r.note(value)
		}
		if inner, ok := value.(*ast.CompositeLit); ok && inner.Type == nil {
			r.literal(inner, element)
		}
	}
}

// note keeps what an expression can be as a title.
func (r *titleReader) note(expression ast.Expr) {
	for _, title := range r.values(expression) {
		if title == anything {
			r.t.Errorf("%s has a title that this test cannot read: %T", r.path, expression)
		} else if title != "" && r.found[title] == "" {
			r.found[title] = r.path
		}
	}
}

// values are the texts that an expression can be. One that comes from a parameter or a field of the name is none: it
// was noted where it was given.
func (r *titleReader) values(expression ast.Expr) []string {
	switch given := expression.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(given.Value); err == nil {
			return []string{text}
		}
	case *ast.BinaryExpr:
		var joined []string
		for _, left := range r.values(given.X) {
			for _, right := range r.values(given.Y) {
				joined = append(joined, left+right)
			}
		}
		if given.Op == token.ADD {
			return joined
		}
	case *ast.Ident:
		assigned := r.texts[given.Name]
		if assigned == nil && given.Name == "title" {
			return nil
		}
		var all []string
		for _, value := range assigned {
			all = append(all, r.values(value)...)
		}
		if all != nil {
			return all
		}
	case *ast.SelectorExpr:
		if strings.EqualFold(given.Sel.Name, "title") {
			return nil
		}
	case *ast.CallExpr:
		if isCall(given, "fmt", "Sprintf") {
			var formatted []string
			for _, format := range r.values(given.Args[0]) {
				formatted = append(formatted, verb.ReplaceAllString(format, anything))
			}
			return formatted
		}
	}
	return []string{anything}
}
