package environment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

var (
	// inits run the rest of their command line as a child and forward signals to it.
	inits = []string{"tini", "tini-static", "docker-init", "dumb-init", "catatonit"}
	// shells take their first operand for a script.
	shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}
	// interpreters do so too; python3.13 counts as python.
	interpreters = lazyregexp.New(`^(python|pypy|ipython|perl|ruby|node|Rscript)[0-9.]*$`)
	// handsOver is the script that becomes its arguments.
	handsOver = lazyregexp.New(`^\s*exec\s+"\$@"\s*;?\s*$`)
	// arguments are the ways in which a script can use what comes after it.
	arguments = lazyregexp.New(`\$[@*0-9{]|\bshift\b`)
)

func entrypoint(args []string) Point {
	point := Point{ID: "entrypoint", Expected: "none, or one that execs its arguments", Actual: "none", Met: execsArguments(args)}
	if len(args) > 0 {
		quoted := make([]string, len(args))
		for i, arg := range args {
			quoted[i] = fmt.Sprintf("%q", arg)
		}
		point.Actual = "[" + strings.Join(quoted, ", ") + "]"
	}
	return point
}

// execsArguments tells whether a command that is appended to the entrypoint runs; nil where that depends on a program
// or a script that only a start can show.
func execsArguments(args []string) *bool {
	if len(args) == 0 {
		return yes()
	}
	program, rest := path.Base(args[0]), args[1:]
	switch {
	case slices.Contains(inits, program):
		return initExecs(rest)
	case program == "env" && len(rest) == 0:
		return yes()
	case slices.Contains(shells, program):
		return shellExecs(rest)
	case interpreters.MatchString(program) && allOptions(rest) && !slices.Contains(rest, "-c") && !slices.Contains(rest, "-m") && !slices.Contains(rest, "-e"):
		return no()
	}
	return nil
}

// initExecs follows an init to the program that it runs.
func initExecs(rest []string) *bool {
	if i := slices.Index(rest, "--"); i >= 0 && allOptions(rest[:i]) {
		return execsArguments(rest[i+1:])
	}
	if len(rest) == 0 {
		return yes()
	}
	if strings.HasPrefix(rest[0], "-") {
		return nil
	}
	return execsArguments(rest)
}

// shellExecs judges a shell without a script, whose first operand becomes one, and the form sh -c 'exec "$@"' name,
// where the word after the script is $0 and not an argument.
func shellExecs(rest []string) *bool {
	i := slices.IndexFunc(rest, func(arg string) bool { return strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") })
	switch {
	case allOptions(rest):
		if i >= 0 {
			return nil
		}
		return no()
	case i < 0 || i+1 >= len(rest) || !allOptions(rest[:i]):
		return nil
	}
	script, words := rest[i+1], rest[i+2:]
	switch {
	case !arguments.MatchString(script):
		return no()
	case handsOver.MatchString(script) && len(words) == 1:
		return yes()
	case handsOver.MatchString(script) && len(words) == 0:
		return no()
	}
	return nil
}

func allOptions(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}
