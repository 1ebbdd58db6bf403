package e2b_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const locked = "six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274\n"

func recipeOf(t *testing.T) e2b.Recipe {
	t.Helper()
	base, err := reference.ParsePinned("registry.example.com/base:1@sha256:" + strings.Repeat("a", 64))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := lock.Parse(locked)
	if err != nil {
		t.Fatal(err)
	}
	return e2b.Recipe{
		Base: base, Lock: parsed, Python: "3.13", Interpreter: e2b.CarriedInterpreter(), StartCommand: e2b.StartCommand, ReadyCommand: e2b.ReadyCommand,
		Spec: environment.Spec{
			Env:         map[string]string{"MODE": "it's $HOME", "A": "1"},
			Files:       []environment.File{{Path: "/srv/b", Content: []byte("b"), Mode: "755"}, {Path: "/home/datalayer/a", Content: []byte("a"), Mode: "0600"}},
			AptPackages: []string{"git", "curl=8.0~1"},
			PostInstall: []environment.Command{{Command: "echo $MODE\ntouch x"}},
		},
	}
}

func instructions(t *testing.T, r e2b.Recipe) e2b.Instructions {
	t.Helper()
	made, err := r.Instructions()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// written is a recipe as the golden files have it: each step with the argument that made it, and what archives hold.
func written(t *testing.T, made e2b.Instructions) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "from %s\n", made.Start.FromImage)
	archives := map[string]e2b.Archive{}
	for _, archive := range made.Archives {
		archives[archive.Hash] = archive
	}
	for i, step := range made.Start.Steps {
		fmt.Fprintf(&b, "%d %s %q force=%t  # %v: %s\n", i+1, step.Type, step.Args, step.Force, made.Origins[i].Path, made.Origins[i].Does)
		if step.Type == "COPY" {
			b.WriteString(contents(t, archives[step.FilesHash]))
		}
	}
	fmt.Fprintf(&b, "start %s\nready %s\n", made.Start.StartCommand, made.Start.ReadyCommand)
	return b.String()
}

func contents(t *testing.T, archive e2b.Archive) string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive.Tar))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "    %s %o %d:%d", header.Name, header.Mode, header.Uid, header.Gid)
		if len(content) > 0 && len(content) < 300 && !strings.HasPrefix(header.Name, "programs/") {
			fmt.Fprintf(&b, " %q", content)
		}
		b.WriteString("\n")
	}
}

func TestRecipe_IsTheGoldenOne(t *testing.T) {
	bare := recipeOf(t)
	bare.Spec, bare.Lock, bare.Python = environment.Spec{}, nil, ""
	for name, recipe := range map[string]e2b.Recipe{"recipe": recipeOf(t), "recipe-bare": bare} {
		got, file := written(t, instructions(t, recipe)), "testdata/"+name+".golden"
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; UPDATE_GOLDEN=1 writes it anew. Got:\n%s", file, got)
		}
	}
}

func TestRecipe_IsEqualForEqualContent(t *testing.T) {
	one, other := instructions(t, recipeOf(t)), instructions(t, recipeOf(t))
	if !reflect.DeepEqual(one, other) {
		t.Error("one recipe gives two sets of instructions")
	}
	changed := recipeOf(t)
	changed.Interpreter.Source = "https://mirror.example.com/{commit}"
	if got := instructions(t, changed); reflect.DeepEqual(one.Start.Steps, got.Start.Steps) {
		t.Error("another source changes no step")
	} else if !strings.Contains(fmt.Sprint(got.Start.Steps), "https://mirror.example.com/"+changed.Interpreter.Commit) {
		t.Error("the source does not name the commit")
	}
}

// A rebuild that is asked for has to reach what may have moved, past E2B's layer cache.
func TestRecipe_AnewRunsWhatMayHaveMoved(t *testing.T) {
	forced := func(change func(*e2b.Recipe)) (first any) {
		recipe := recipeOf(t)
		recipe.Anew = true
		change(&recipe)
		made := instructions(t, recipe)
		for i, step := range made.Start.Steps {
			if step.Force {
				return made.Origins[i].Path[0]
			}
		}
		return nil
	}
	for want, change := range map[string]func(*e2b.Recipe){
		"apt_packages": func(*e2b.Recipe) {},
		"post_install": func(r *e2b.Recipe) { r.Spec.AptPackages = nil },
		"base":         func(r *e2b.Recipe) { r.Spec.AptPackages, r.Spec.PostInstall = nil, nil },
	} {
		if got := forced(change); got != want {
			t.Errorf("the first step that runs anew is of %v, want %s", got, want)
		}
	}
	if got := forced(func(r *e2b.Recipe) { r.Anew = false }); got != "base" {
		t.Errorf("without being asked, %v runs anew", got)
	}
}

func TestRecipe_NamesTheArgumentOfTheFailedStep(t *testing.T) {
	made := instructions(t, recipeOf(t))
	tests := map[string]struct {
		message string
		want    []any
	}{
		"base": {"", []any{"base"}}, "2": {"", []any{"base"}}, "3": {"", []any{"python_version"}}, "4": {"", []any{"code_interpreter"}}, "5": {"", []any{"apt_packages"}},
		"7": {"", []any{"lock"}}, "9": {"", []any{"files"}}, "11": {"", []any{"post_install", 0}}, "finalize": {"start command failed: exit status 1", []any{"start_command"}}, "99": {"", nil}, "": {"", nil},
	}
	for step, tt := range tests {
		err := made.Explain(&problem.Problem{Title: "T", Object: "o", Cause: &e2b.BuildFailure{Step: step, Message: tt.message}})
		if got := problem.From(err, "")[0].Path; !reflect.DeepEqual(got, tt.want) && (len(got) > 0 || len(tt.want) > 0) {
			t.Errorf("step %q is of %v, want %v", step, got, tt.want)
		}
	}
	for message, want := range map[string][]any{
		"ready command failed: ready command timed out after 10m0s (phase: finalize, step: finalize)":         {"ready_command"},
		"start command failed: error running start command: exit status 1":                                    {"start_command"},
		"waiting for start command failed: context deadline exceeded (phase: finalize, step: finalize)":       {"start_command"},
		"configuration script failed: failed to run command: exit status 1 (phase: finalize, step: finalize)": nil,
		"": nil,
	} {
		err := made.Explain(&problem.Problem{Title: "T", Cause: &e2b.BuildFailure{Step: "finalize", Message: message}})
		if got := problem.From(err, "")[0].Path; !reflect.DeepEqual(got, want) && (len(got) > 0 || len(want) > 0) {
			t.Errorf("%q is of %v, want %v", message, got, want)
		}
	}
}

// E2B gives a start command nothing of env, so what is sent brings it: a shell must see the values as they are.
func TestRecipe_StartCommandHasTheVariables(t *testing.T) {
	recipe := recipeOf(t)
	recipe.StartCommand = `[[ $A == 1 ]] && printf '%s|%s|%s' "$MODE" "$HOME" "$LC_ALL"`
	sent := instructions(t, recipe).Start.StartCommand
	// The working directory of the contract is not on this machine.
	local := strings.Replace(sent, "-C "+environment.WorkDir, "-C /", 1)
	output, err := osexec.CommandContext(t.Context(), "bash", "-c", local).CombinedOutput()
	if want := "it's $HOME|" + environment.Home + "|C.UTF-8"; err != nil || string(output) != want || local == sent {
		t.Errorf("%s gave %q, %v, want %q", sent, output, err, want)
	}
	recipe.Spec.Env = nil
	if sent := instructions(t, recipe).Start.StartCommand; sent != recipe.StartCommand {
		t.Errorf("without variables it is %q", sent)
	}
}

func TestRecipe_TakesALocalSourceByItsDigests(t *testing.T) {
	recipe := recipeOf(t)
	recipe.Interpreter.Source = t.TempDir()
	_, err := recipe.Instructions()
	if text := told(err); !strings.Contains(text, "template/server/api/models/__init__.py") || !strings.Contains(text, recipe.Interpreter.Commit) {
		t.Errorf("an empty folder gives %s", text)
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for source, words := range map[string]string{nowhere: "no such file or directory", file: "it is a file, not a folder"} {
		recipe.Interpreter.Source = source
		_, err := recipe.Instructions()
		if text := told(err); !strings.Contains(text, source) || !strings.Contains(text, words) || strings.Contains(text, "template/server") {
			t.Errorf("%s gives %s", source, text)
		}
	}
}

// E2B's builder logs a program's output by what one read of the pipe gave, and trims each part.
func TestReport_IsReadHoweverTheLogIsCut(t *testing.T) {
	made := instructions(t, recipeOf(t))
	step := strconv.Itoa(len(made.Start.Steps) - 2)
	const told = "datalayer-python=3.13.5;\ndatalayer-package=numpy=2.5.3;\ndatalayer-package=six=1.17.0;\ndatalayer-end;\n"
	want := e2b.Report{Python: "3.13.5", Packages: map[string]string{"numpy": "2.5.3", "six": "1.17.0"}}
	for size := 1; size <= len(told); size++ {
		log := made.ReportLog()
		for chunk := range slices.Chunk([]byte(told), size) {
			for line := range strings.SplitSeq(string(chunk), "\n") {
				if line = strings.TrimSpace(line); line != "" {
					log.Take(e2b.LogEntry{Step: step, Message: "[builder " + step + "/14] [stdout]: " + line})
				}
			}
		}
		if got := log.Report(); !reflect.DeepEqual(got, want) {
			t.Fatalf("in parts of %d bytes the report is %+v, want %+v", size, got, want)
		}
	}
}

func TestReport_TakesOnlyItsOwnLines(t *testing.T) {
	made := instructions(t, recipeOf(t))
	last := len(made.Start.Steps) - 2
	log := made.ReportLog()
	take := func(step int, message string) { log.Take(e2b.LogEntry{Step: strconv.Itoa(step), Message: message}) }
	take(last-1, "[builder 11/14] [stdout]: datalayer-package=six=0.1;")
	take(last, "[builder 12/14] RUN echo datalayer-python=2.7.18;")
	take(last, "[builder 12/14] [stdout]: datalayer-python=3.13.5;")
	take(last, "[builder 12/14] [stderr]: datalayer-package=numpy=1;")
	take(last, "[builder 12/14] [stdout]: datalayer-package=six=1.17.0;")
	if got := log.Report(); !reflect.DeepEqual(got, e2b.Report{}) {
		t.Errorf("half a report counts: %+v", got)
	}
	take(last, "[builder 12/14] [stdout]: datalayer-end;")
	if got, want := log.Report(), (e2b.Report{Python: "3.13.5", Packages: map[string]string{"six": "1.17.0"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("report is %+v, want %+v", got, want)
	}
}

func TestCheckSource(t *testing.T) {
	for source, good := range map[string]bool{
		e2b.InterpreterSource: true, "https://mirror.example.com/ci": true, "./checkout": true, "/srv/ci": true,
		"": false, "http://mirror.example.com": false, "https://user:pw@mirror.example.com/x": false, "ssh://git@host/x": false, "https://": false, "git@github.com:e2b-dev/code-interpreter": false, "me@work/checkout": true, `C:\src\code-interpreter@1.2`: true, `D:/src/ci@1.2`: true,
		"user:pw@host.example.com:x/y": false, "user:pw@host.example.com/x": false, "user:pw@https://host.example.com/x": false, "user:pw@host://x": false,
	} {
		if err := e2b.CheckSource(source); (err == nil) != good || strings.Contains(told(err), "pw") {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestCheckCommitAndEdit_NameWhatIsCarried(t *testing.T) {
	carried := e2b.CarriedInterpreter()
	for _, tt := range []struct {
		check   func(string) error
		carried string
	}{{e2b.CheckCommit, carried.Commit}, {e2b.CheckEdit, carried.EditDigest}} {
		if err := tt.check(tt.carried); err != nil {
			t.Error(err)
		}
		for _, other := range []string{"", "main", "sha256:0"} {
			if err := tt.check(other); !strings.Contains(told(err), tt.carried) {
				t.Errorf("%q: %s", other, told(err))
			}
		}
	}
}

// told is all that a person reads of an error.
func told(err error) string {
	var text strings.Builder
	for _, p := range problem.From(err, "untitled") {
		text.WriteString(p.Title + "\n" + p.Detail() + "\n")
	}
	return text.String()
}
