package sweep

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const usage = `Usage: terraform-provider-datalayer sweep [options]

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

Exit status: 0 if nothing remains that should be gone; 1 if something does, or a service did
not answer; 2 if the options are not understood. What is in use and artifacts do not count.
`

// Setting is an environment variable that services are configured by, for --help. Meaning may have several lines.
type Setting struct{ Variable, Meaning string }

// Program is the command.
type Program struct {
	Settings []Setting
	// Services gives those to look at. repositories are what --repository gave.
	Services func(repositories []reference.Repository) ([]Service, error)
	// Now is time.Now if nil.
	Now func() time.Time
}

// Main runs the command and gives its exit status.
func (p Program) Main(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	o := Options{Now: p.Now}
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
		p.help(stdout)
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && o.OlderThan < 0:
		err = errors.New("--older-than is negative")
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sweep: %s\nterraform-provider-datalayer sweep --help lists the options.\n", err)
		return 2
	}
	services, err := p.Services(repositories)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sweep: %s\n", err)
		return 2
	}
	o.Command = "terraform-provider-datalayer sweep"
	for _, r := range repositories {
		o.Command += " --repository " + quoted(r.String())
	}
	if !Run(ctx, o, services, stdout) {
		return 1
	}
	return 0
}

func (p Program) help(out io.Writer) {
	var lines strings.Builder
	for _, s := range p.Settings {
		fmt.Fprintf(&lines, "  %-23s  %s\n", s.Variable, strings.ReplaceAll(s.Meaning, "\n", "\n"+strings.Repeat(" ", 27)))
	}
	_, _ = fmt.Fprintf(out, usage, lines.String())
}
