package sweep

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const usage = `Usage: %s [options]

Removes what a killed run left behind: credentials and sandboxes at the services, only those
whose name says that they are ours and that they have expired. Lists the artifacts that carry
our mark, each with the commands to import and to remove it; an artifact is never removed but
by its id.

Options:
  --repository HOST/PATH   look for images in this repository; may be given several times
  --older-than DURATION    leave alone what expired less than this ago, and list no artifact
                           that is younger: "48h", "90m". What tells no age is listed.
                           Default: 0
  --dry-run                say what would be removed, and remove nothing
  --delete-artifact ID     remove this artifact; may be given several times; of an
                           image with the --repository that it is in
  --help                   this text

Settings, from the environment alone:
%s
A service without settings is not checked, and said to be so.

Exit status: 0 if nothing was found that should be gone and remains; 1 if something was, if a
service did not answer, or if a repository has more than 1000 tags; 2 if options or settings
are not understood. What is in use and artifacts do not count, unless --delete-artifact names
them, and neither does a service that is "not checked": a job that runs this by itself should
look for these words too, at each service that it is there for.
`

// Setting is an environment variable that services are configured by, for --help. Meaning may have several lines.
type Setting struct{ Variable, Meaning string }

// Program is the command.
type Program struct {
	// Path is how a shell finds the program, for the commands that it prints; "" for its name alone.
	Path     string
	Settings []Setting
	// Services gives those to look at. repositories are what --repository gave.
	Services func(repositories []reference.Repository) ([]Service, error)
	// Warnings are what a person should be told of the logins that were used; nil: nothing.
	Warnings func() problem.List
	// Now is time.Now if nil.
	Now func() time.Time
}

// Main runs the command and gives its exit status.
func (p Program) Main(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	o := Options{Now: p.Now, Command: quoted(cmp.Or(p.Path, "terraform-provider-datalayer")) + " sweep"}
	if o.Now == nil {
		o.Now = time.Now
	}
	var repositories []reference.Repository
	flags := flag.NewFlagSet("sweep", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("older-than", "", func(text string) (err error) {
		if o.OlderThan, err = time.ParseDuration(text); err != nil {
			return errors.New(`write hours, minutes or seconds with their letter: "48h", "90m"`)
		}
		return nil
	})
	flags.BoolVar(&o.DryRun, "dry-run", false, "")
	flags.Func("delete-artifact", "", func(id string) error {
		if id == "" {
			return errors.New("the id is empty")
		}
		if !slices.Contains(o.DeleteArtifacts, id) {
			o.DeleteArtifacts = append(o.DeleteArtifacts, id)
		}
		return nil
	})
	flags.Func("repository", "", func(text string) error {
		repository, err := reference.ParseRepository(text)
		if err == nil && !slices.Contains(repositories, repository) {
			repositories = append(repositories, repository)
		}
		return err
	})
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.help(o.Command, stdout)
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && o.OlderThan < 0:
		err = errors.New("--older-than is negative")
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sweep: %s\n%s --help lists the options.\n", err, o.Command)
		return 2
	}
	services, err := p.Services(repositories)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sweep: %s\n", err)
		return 2
	}
	for _, r := range repositories {
		o.Command += " --repository " + quoted(r.String())
	}
	clean := Run(ctx, o, services, stdout)
	if p.Warnings != nil {
		for _, warning := range p.Warnings() {
			_, _ = fmt.Fprintf(stderr, "sweep: warning: %s: %s %s\n", warning.Title, warning.Object, warning.Advice)
		}
	}
	if !clean {
		return 1
	}
	return 0
}

func (p Program) help(command string, out io.Writer) {
	var lines strings.Builder
	for _, s := range p.Settings {
		fmt.Fprintf(&lines, "  %-23s  %s\n", s.Variable, strings.ReplaceAll(s.Meaning, "\n", "\n"+strings.Repeat(" ", 27)))
	}
	_, _ = fmt.Fprintf(out, usage, command, lines.String())
}
