package e2b

import (
	"errors"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Explain adds to a failed build which argument made the step that failed.
func (i Instructions) Explain(err error) error {
	var failed *BuildFailure
	if !errors.As(err, &failed) {
		return err
	}
	var at Origin
	index, numbered := failed.StepIndex()
	switch {
	case failed.Step == "base":
		at = Origin{[]any{"base"}, "pull the base"}
	case failed.Step == "finalize" && strings.HasPrefix(failed.Message, "ready command"):
		at = Origin{[]any{"ready_command"}, "wait until the template is ready"}
	case failed.Step == "finalize":
		at = Origin{[]any{"start_command"}, "run the start command"}
	case numbered && index < len(i.Origins):
		at = i.Origins[index]
	default:
		return err
	}
	var list problem.List
	for _, p := range problem.From(err, "E2B template build failed") {
		said := *p
		said.Path, said.Object = at.Path, p.Object+": "+at.Does
		list = append(list, &said)
	}
	return list
}

// Report is what the last step of a template told of it, line by line.
type Report struct {
	// Python is the full version, "" if it was not told.
	Python string
	// Packages are those of the lock, name to version.
	Packages map[string]string
}

// Take reads one line of a build's log.
func (r *Report) Take(line string) {
	_, said, found := strings.Cut(line, "[stdout]: datalayer-")
	words := strings.Fields(said)
	switch {
	case !found:
	case len(words) == 2 && words[0] == "python":
		r.Python = words[1]
	case len(words) == 3 && words[0] == "package":
		if r.Packages == nil {
			r.Packages = map[string]string{}
		}
		r.Packages[words[1]] = words[2]
	}
}

// MajorMinor is the Python as "3.13"; "" if it was not told.
func (r Report) MajorMinor() string {
	parts := strings.SplitN(r.Python, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}
