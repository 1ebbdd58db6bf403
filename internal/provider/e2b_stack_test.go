package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

const (
	templateAddress = "datalayer_e2b_template.t"
	fullName        = e2btest.DefaultTeam + "/agent-env"
	sixLock         = "six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"
	otherLock       = "six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254"
	thirdLock       = "six==1.15.0 --hash=sha256:8b74bedcbbbaca38ff6d7491d76f2b06b3592611af620f8426e82dddb04a5ced"
)

var templateBase = "base.example.com/base@sha256:" + strings.Repeat("b", 64)

// e2bStack is what a test of templates runs against: a stand-in for E2B of its own.
type e2bStack struct {
	*e2btest.Server
	*recorder
}

func newE2B(t *testing.T, change ...func(*e2btest.Options)) *e2bStack {
	t.Helper()
	options := e2btest.Options{}
	for _, c := range change {
		c(&options)
	}
	fake, err := e2btest.New(options)
	must(t, err)
	t.Cleanup(fake.Close)
	s := &e2bStack{Server: fake, recorder: &recorder{}}
	s.reports()
	for name, value := range map[string]string{
		"E2B_API_KEY": e2btest.Key, "E2B_API_URL": fake.URL, "E2B_SANDBOX_URL": fake.URL, "E2B_DOMAIN": "", "DATALAYER_REGISTRIES": "", "DOCKER_CONFIG": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return s
}

// reports lets the last step of each build tell what a real one does.
func (s *e2bStack) reports() {
	s.OnStep(e2btest.Tells())
}

// newCLI gives a CLI whose runs use the stand-in.
func (s *e2bStack) newCLI(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t)
	c.env["E2B_API_KEY"], c.env["E2B_API_URL"] = e2btest.Key, s.URL
	return c
}

// template is one template with these further arguments.
func template(arguments string) string {
	if !strings.Contains("\n"+arguments, "\n  name ") {
		arguments = "  name = \"agent-env\"\n" + arguments
	}
	return fmt.Sprintf("\nresource \"datalayer_e2b_template\" \"t\" {\n  base = %q\n%s\n}\n", templateBase, arguments)
}

func withLock(lock string) string { return fmt.Sprintf("  lock = %q\n", lock) }

// run takes a test through its steps, destroys what is in state then, and checks that nothing is left.
func (s *e2bStack) run(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: s.factories(), Steps: steps})
	s.empty(t)
	for _, warning := range s.warnings() {
		t.Errorf("nobody expected the warning %q: %s", warning.Summary, warning.Detail)
	}
}

func (s *e2bStack) empty(t *testing.T) {
	t.Helper()
	if left := s.Left(); len(left) > 0 {
		t.Errorf("left at E2B: %v", left)
	}
}

func knownTemplate(attribute string, value knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(templateAddress, tfjsonpath.New(attribute), value)
}

func rememberTemplate(attribute string, into *string) statecheck.StateCheck {
	return knownTemplate(attribute, knownvalue.StringFunc(func(value string) error {
		*into = value
		return nil
	}))
}

// launches checks that what the state prints launches the build that the state names.
func (s *e2bStack) launches() statecheck.StateCheck {
	return stateCheck(func(state *tfjson.State) error {
		for _, r := range state.Values.RootModule.Resources {
			if r.Type != "datalayer_e2b_template" {
				continue
			}
			reference := fmt.Sprint(r.AttributeValues["reference"])
			build, refused := s.Launches(e2btest.Key, reference)
			if build != r.AttributeValues["build_id"] {
				return fmt.Errorf("%s launches %s (%s), want %v", reference, build, refused, r.AttributeValues["build_id"])
			}
		}
		return nil
	})
}

// byName checks which build the bare name launches.
func (s *e2bStack) byName(want *string) statecheck.StateCheck {
	const reference = "agent-env"
	return stateCheck(func(*tfjson.State) error {
		if build, refused := s.Launches(e2btest.Key, reference); build != *want {
			return fmt.Errorf("%s launches %q (%s), want %q", reference, build, refused, *want)
		}
		return nil
	})
}

// slow makes builds take their time by the machine's clock.
func slow(d time.Duration) func(*e2btest.Options) {
	return func(o *e2btest.Options) { o.Pace = d }
}

func stateCheckOf(check func() error) statecheck.StateCheck {
	return stateCheck(func(*tfjson.State) error { return check() })
}
