package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a package variable compiles is paid at each start of the provider; what lazyregexp.New keeps is compiled by no
// linter, so that a malformed pattern would show at its first use.
func TestPatternsAreLazyAndWellFormed(t *testing.T) {
	patterns := 0
	eachFile(t, func(path string, file *ast.File) {
		if path == filepath.Join("lazyregexp", "lazyregexp.go") {
			return
		}
		for _, declaration := range file.Decls {
			variables, ok := declaration.(*ast.GenDecl)
			if !ok || variables.Tok != token.VAR {
				continue
			}
			ast.Inspect(variables, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && isCall(call, "regexp", "MustCompile") {
					t.Errorf("%s compiles a pattern at every start: use lazyregexp.New", path)
				}
				_, isFunction := node.(*ast.FuncLit)
				return !isFunction
			})
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || !isCall(call, "lazyregexp", "New") {
				return true
			}
			// Others are put together at the start; the tests of their rooms use them.
			if literal, ok := call.Args[0].(*ast.BasicLit); ok {
				patterns++
				pattern, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := regexp.Compile(pattern); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			return true
		})
	})
	if patterns == 0 {
		t.Error("no pattern was found")
	}
}

func isCall(call *ast.CallExpr, pkg, name string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == pkg
}

// eachFile parses the files of all rooms, those of tests and workshops aside.
func eachFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		room, _, _ := strings.Cut(path, string(os.PathSeparator))
		if err != nil || entry.IsDir() || slices.Contains(workshops, room) || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		visit(path, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
