package e2btest

import (
	"strings"
	"time"
)

// answers are what build steps, commands and code give.
type answers struct {
	steps    []StepAnswer
	takes    map[string]time.Duration
	commands []func(Command) (CommandAnswer, bool)
	code     []func(Code) ([]Event, bool)
	// meanwhile is what others do in the middle of the next request for a build.
	meanwhile func()
}

// StepAnswer is what a build step does whose arguments hold a text.
type StepAnswer struct {
	// Holds is looked for in the step's arguments, the start command or the ready command.
	Holds string
	// Stdout and Stderr are lines that it prints.
	Stdout, Stderr []string
	// Exit is its exit code; other than 0 fails the build.
	Exit int
	// Message fails the build with E2B's words of another kind: "The build was canceled…". Silent fails it with none.
	Message string
	Silent  bool
	// Takes is how long it takes, beside its lines.
	Takes time.Duration
}

// Tells is what the last step of the provider's templates tells of one with the package six, as its program prints it.
func Tells() StepAnswer {
	return StepAnswer{Holds: "finish.py", Stdout: []string{"datalayer-python=3.13.5;", "datalayer-package=six=1.17.0;", "datalayer-end;"}}
}

// OnStep says what a build step does. The newest answer that fits is used; a step with none succeeds silently.
func (s *Server) OnStep(answers ...StepAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.steps = append(s.answers.steps, answers...)
}

// Meanwhile says what others do once the next request for a build has looked its name up, before the build is made.
func (s *Server) Meanwhile(others func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.meanwhile = others
}

// ForgetSteps takes back what OnStep said.
func (s *Server) ForgetSteps() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.steps = nil
}

func (s *Server) stepAnswer(text string) StepAnswer {
	for i := len(s.answers.steps) - 1; i >= 0; i-- {
		if strings.Contains(text, s.answers.steps[i].Holds) {
			return s.answers.steps[i]
		}
	}
	return StepAnswer{}
}

// Command is a process that a sandbox is asked to run.
type Command struct {
	Sandbox, User, Program string
	Args                   []string
	// Env is the sandbox's with the request's over it.
	Env map[string]string
	Dir string
}

// Line is the command line of a shell, or program and arguments.
func (c Command) Line() string {
	if n := len(c.Args); n > 1 && c.Args[n-2] == "-c" {
		return c.Args[n-1]
	}
	return strings.Join(append([]string{c.Program}, c.Args...), " ")
}

// CommandAnswer is what a command gives.
type CommandAnswer struct {
	Stdout, Stderr string
	Exit           int
	// Hangs keeps it running until it is signalled or its time is over.
	Hangs bool
}

// OnCommand adds an answer, which is asked before those added earlier. Where none fits, "echo" prints, "exit" exits,
// "sleep" hangs, and all else is a command not found.
func (s *Server) OnCommand(answer func(Command) (CommandAnswer, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.commands = append(s.answers.commands, answer)
}

func (s *Server) commandAnswer(c Command) CommandAnswer {
	s.mu.Lock()
	known := append([]func(Command) (CommandAnswer, bool){}, s.answers.commands...)
	s.mu.Unlock()
	for i := len(known) - 1; i >= 0; i-- {
		if answer, ok := known[i](c); ok {
			return answer
		}
	}
	word, rest, _ := strings.Cut(c.Line(), " ")
	switch word {
	case "echo":
		text := strings.Trim(rest, `"'`)
		for name, value := range c.Env {
			text = strings.ReplaceAll(text, "$"+name, value)
		}
		return CommandAnswer{Stdout: text + "\n"}
	case "exit":
		return CommandAnswer{Exit: int(number(rest))}
	case "sleep":
		return CommandAnswer{Hangs: true}
	}
	return CommandAnswer{Stderr: "/bin/bash: line 1: " + word + ": command not found\n", Exit: 127}
}

// Code is what the code-interpreter server of a sandbox is asked to run.
type Code struct {
	Sandbox, Context, Language, Dir, Code string
	Env                                   map[string]string
}

// Event is one line of the server's answer, as its JSON.
type Event map[string]any

// OnCode adds an answer, which is asked before those added earlier. Where none fits, print("…"), 1+1 and raise of an
// error are understood, a line each.
func (s *Server) OnCode(answer func(Code) ([]Event, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.code = append(s.answers.code, answer)
}

func (s *Server) codeAnswer(c Code) []Event {
	s.mu.Lock()
	known := append([]func(Code) ([]Event, bool){}, s.answers.code...)
	s.mu.Unlock()
	for i := len(known) - 1; i >= 0; i-- {
		if events, ok := known[i](c); ok {
			return events
		}
	}
	return simple(c.Code)
}
