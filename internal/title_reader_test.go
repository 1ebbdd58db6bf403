package internal_test

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fallbacks put their title above an error only where no room has explained it. The page says what to do of all of these.
var fallbacks = []string{"From", "appendProblems", "failed"}

// anything stands in a title for what is only known when it is said: "Tag of the \x00 moved".
const anything = "\x00"

// verb is one of fmt.
var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// titleReader reads the titles of one package: of fields Title or title, and of calls of functions that take a
// parameter of that name.
type titleReader struct {
	t      *testing.T
	path   string
	takers map[string]int // name of a function → which argument is the title
	fields map[string]int // name of a struct → which field is the title
	texts  map[string][]ast.Expr
	found  map[string]string
	// members are what fields are set to in struct literals; results what functions with one statement return.
	members, results map[string][]ast.Expr
}

// learn notes the functions of a package that take a title, the structs that have one, and the texts that have a name.
func (r *titleReader) learn(file *ast.File) {
	if r.fields == nil {
		r.fields, r.texts = map[string]int{}, map[string][]ast.Expr{}
		r.members, r.results = map[string][]ast.Expr{}, map[string][]ast.Expr{}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if pair, ok := node.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				r.members[key.Name] = append(r.members[key.Name], pair.Value)
			}
		}
		return true
	})
	for _, declaration := range file.Decls {
		switch declared := declaration.(type) {
		case *ast.FuncDecl:
			if index := titleIn(declared.Type.Params); index >= 0 && !slices.Contains(fallbacks, declared.Name.Name) {
				r.takers[declared.Name.Name] = index
			}
			if declared.Body != nil && len(declared.Body.List) == 1 {
				if returned, ok := declared.Body.List[0].(*ast.ReturnStmt); ok && len(returned.Results) == 1 {
					r.results[declared.Name.Name] = append(r.results[declared.Name.Name], returned.Results[0])
				}
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				switch named := spec.(type) {
				case *ast.TypeSpec:
					if fields, ok := named.Type.(*ast.StructType); ok {
						if index := titleIn(fields.Fields); index >= 0 {
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

// titleIn is where a list of parameters or fields has a title, or -1.
func titleIn(list *ast.FieldList) int {
	at := 0
	for _, field := range list.List {
		for _, named := range field.Names {
			if named.Name == "title" {
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
					if index := titleIn(function.Type.Params); index >= 0 {
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
		index = titleIn(kind.Fields)
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
		if all := r.all(assigned); all != nil {
			return all
		}
	case *ast.SelectorExpr:
		if strings.EqualFold(given.Sel.Name, "title") {
			return nil
		}
		if given.Sel.Name == "noun" {
			return r.all(r.members["noun"])
		}
	case *ast.CallExpr:
		if isCall(given, "fmt", "Sprintf") {
			var formatted []string
			for _, format := range r.values(given.Args[0]) {
				formatted = append(formatted, verb.ReplaceAllString(format, anything))
			}
			return formatted
		}
		switch callee(given) {
		case "what":
			return r.all(r.results["what"])
		case "lowered":
			var all []string
			for _, text := range r.values(given.Args[0]) {
				all = append(all, strings.ToLower(text[:1])+text[1:])
			}
			return all
		}
	}
	return []string{anything}
}

// all are the texts that any of the expressions can be.
func (r *titleReader) all(expressions []ast.Expr) (texts []string) {
	for _, expression := range expressions {
		texts = append(texts, r.values(expression)...)
	}
	return texts
}
