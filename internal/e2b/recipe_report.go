package e2b

import (
	"errors"
	"fmt"
	"strconv"
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
	case failed.Step == "finalize" && strings.Contains(failed.Message, "start command"):
		at = Origin{[]any{"start_command"}, "run the start command"}
	case failed.Step == "finalize":
		at = Origin{nil, "finish the template, which no argument decides"}
	case numbered && index < len(i.Origins):
		at = i.Origins[index]
	default:
		return err
	}
	var list problem.List
	for _, p := range problem.From(err, "E2B template build failed") {
		said := *p
		said.Path, said.Object = at.Path, p.Object+": "+at.said()
		if said.Advice == "" {
			said.Advice = at.advice()
		}
		list = append(list, &said)
	}
	return list
}

// said is what the step does, and the argument that made it.
func (o Origin) said() string {
	var argument strings.Builder
	for _, part := range o.Path {
		if index, isIndex := part.(int); isIndex {
			fmt.Fprintf(&argument, "[%d]", index)
		} else {
			fmt.Fprint(&argument, part)
		}
	}
	if named := argument.String(); named != "" && named != o.Does {
		return o.Does + " (" + named + ")"
	}
	return o.Does
}

// advice is for a step that failed for a reason of its own, which its log tells.
func (o Origin) advice() string {
	if len(o.Path) == 0 {
		return ""
	}
	switch o.Path[0] {
	case "code_interpreter":
		return "E2B's builder takes the server's files from code_interpreter.source, by default from GitHub. If it does not reach that, set source to a mirror that it does reach, or to the folder of a checkout on this machine, which is uploaded. The server's packages come from the index that the base's /etc/pip.conf names, else from PyPI: its builder has to reach that too."
	case "lock":
		return "E2B's builder takes the packages from the index that the base's /etc/pip.conf names, else from PyPI, without a login. Build what is not there into a base first, with datalayer_environment."
	}
	return ""
}

// Report is what the last program of a template told of it.
type Report struct {
	// Python is the full version, "" if the report was not read to its end.
	Python string
	// Packages are those of the lock, name to version.
	Packages map[string]string
}

// ReportLog takes the report out of a build's log. E2B logs what a program prints as it comes out of a pipe, each piece
// trimmed and as a line of its own: so the pieces are put together again, and entries end by a mark.
type ReportLog struct {
	step string
	text strings.Builder
}

// ReportLog makes one for the step that tells. What other steps print is not in the report.
func (i Instructions) ReportLog() *ReportLog { return &ReportLog{step: strconv.Itoa(i.tells)} }

// Take reads one line of the log.
func (l *ReportLog) Take(entry LogEntry) {
	if _, said, found := strings.Cut(entry.Message, "[stdout]: "); found && entry.Step == l.step {
		l.text.WriteString(strings.TrimSpace(said))
	}
}

// Report is what was told; nothing while the end is missing.
func (l *ReportLog) Report() Report {
	var r Report
	for entry := range strings.SplitSeq(l.text.String(), ";") {
		kind, said, _ := strings.Cut(entry, "=")
		switch kind {
		case "datalayer-python":
			r.Python = said
		case "datalayer-package":
			if r.Packages == nil {
				r.Packages = map[string]string{}
			}
			name, version, _ := strings.Cut(said, "=")
			r.Packages[name] = version
		case "datalayer-end":
			return r
		}
	}
	return Report{}
}

// MajorMinor is the Python as "3.13"; "" if it was not told.
func (r Report) MajorMinor() string {
	parts := strings.SplitN(r.Python, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}
