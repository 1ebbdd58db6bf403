package lock

import (
	"iter"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// pylockTable is a table of a pylock.toml, with where it stands. Values are those of the decoder for `any`.
type pylockTable struct {
	p      *parser
	values map[string]any
	// line is the table's own, lines those of its keys, where they are known.
	line  int
	lines map[string]int
	// name is the package's, where says which table this is: "packages[3].wheels[0]"; "" for the file.
	name  string
	where string
}

// report adds a finding about a key, in the words of the format.
func (t *pylockTable) report(key string, why reason, format string, args ...any) {
	line := t.lines[key]
	if line == 0 {
		line = t.line
	}
	t.p.report(line, t.name, why, format, args...)
}

// in is the key with the table's place: "packages[3].wheels[0].url".
func (t *pylockTable) in(key string) string {
	if t.where == "" {
		return key
	}
	return t.where + "." + key
}

// value gives the value of a key, the zero one if there is none. ok is false when it has another type, which is reported.
func value[T any](t *pylockTable, key, kind string) (v T, ok bool) {
	raw, present := t.values[key]
	if !present {
		return v, true
	}
	v, ok = raw.(T)
	if !ok {
		t.report(key, pylockType, "%s is %s, not %s", t.in(key), kindOf(raw), kind)
	}
	return v, ok
}

func (t *pylockTable) text(key string) (string, bool) { return value[string](t, key, "a string") }

func (t *pylockTable) texts(key string) []string {
	list, _ := value[[]any](t, key, "an array")
	texts := make([]string, 0, len(list))
	for i, one := range list {
		text, ok := one.(string)
		if !ok {
			t.report(key, pylockType, "%s[%d] is %s, not a string", t.in(key), i, kindOf(one))
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// table gives the table of a key; present is false also for a value of another type, which is reported.
func (t *pylockTable) table(key string) (inner *pylockTable, present bool) {
	values, _ := value[map[string]any](t, key, "a table")
	return &pylockTable{p: t.p, values: values, line: t.line, name: t.name, where: t.in(key)}, values != nil
}

// tables gives the tables of an array, with their indices.
func (t *pylockTable) tables(key string) iter.Seq2[int, map[string]any] {
	list, _ := value[[]any](t, key, "an array of tables")
	return func(yield func(int, map[string]any) bool) {
		for i, one := range list {
			values, ok := one.(map[string]any)
			if !ok {
				t.report(key, pylockType, "%s[%d] is %s, not a table", t.in(key), i, kindOf(one))
				continue
			}
			if !yield(i, values) {
				return
			}
		}
	}
}

// requiresPython gives the condition of a requires-python; nil for none.
func (t *pylockTable) requiresPython() *pythonRange {
	text, _ := t.text("requires-python")
	r, err := parsePythonRange(text)
	if err != nil {
		t.report("requires-python", pylockPython, "%s", err)
	}
	return r
}

// kindOf names the TOML type of a decoded value.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// tomlLines are the lines of the file's own keys and of each element of `packages`.
type tomlLines struct {
	keys     map[string]int
	packages []int
}

// pylockLines reads a file that has been decoded. The decoder gives no positions of what it could decode, and its
// parser, which does, promises no stable interface: this is all that is used of it.
func pylockLines(text string) tomlLines {
	lines := tomlLines{keys: map[string]int{}}
	lineOf := lineIndex(text)
	var parser unstable.Parser
	parser.Reset([]byte(text))
	inFile := true
	for parser.NextExpression() {
		expression := parser.Expression()
		key := expression.Key()
		key.Next()
		name, line := string(key.Node().Data), lineOf(key.Node().Raw.Offset)
		switch {
		case expression.Kind == unstable.ArrayTable && key.IsLast() && name == "packages":
			lines.packages = append(lines.packages, line)
		case expression.Kind == unstable.KeyValue && inFile:
			lines.keys[name] = line
			if name == "packages" {
				for element := expression.Value().Children(); element.Next(); {
					lines.packages = append(lines.packages, lineOf(element.Node().Raw.Offset))
				}
			}
		}
		inFile = inFile && expression.Kind == unstable.KeyValue
	}
	return lines
}

// lineIndex gives a function from byte offset to line, counted from 1.
func lineIndex(text string) func(offset uint32) int {
	var starts []uint32
	next := uint32(0)
	for line := range strings.SplitSeq(text, "\n") {
		starts = append(starts, next)
		next += uint32(len(line)) + 1
	}
	return func(offset uint32) int {
		at, _ := slices.BinarySearch(starts, offset+1)
		return at
	}
}
