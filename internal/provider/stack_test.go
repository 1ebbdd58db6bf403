package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const address = "datalayer_environment.e"

// stack is what a test of the provider runs against: the shared engine and a registry of its own.
type stack struct {
	*enginetest.Env
	*recorder
	registry   *enginetest.Registry
	repository string
	fault      atomic.Pointer[chooser]
}

// chooser answers in the registry's place, or not (nil).
type chooser func(*http.Request) *enginetest.FaultResponse

func newStack(t *testing.T, middleware ...func(http.Handler) http.Handler) *stack {
	t.Helper()
	return newStackOf(t, enginetest.Engine(t), middleware...)
}

// newStackWithoutEngine is for what ends at plan.
func newStackWithoutEngine(t *testing.T) *stack {
	t.Helper()
	return newStackOf(t, &enginetest.Env{
		BuildkitAddress: "unix:///nowhere/buildkitd.sock", BaseReference: "base.example.com/base@sha256:" + strings.Repeat("b", 64),
	})
}

func newStackOf(t *testing.T, env *enginetest.Env, middleware ...func(http.Handler) http.Handler) *stack {
	t.Helper()
	s := &stack{Env: env, recorder: &recorder{}}
	faults := enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		if choose := s.fault.Load(); choose != nil {
			return (*choose)(r)
		}
		return nil
	})
	s.registry = enginetest.StartRegistry(t, append([]func(http.Handler) http.Handler{faults}, middleware...)...)
	s.repository = s.registry.Host + "/team/env"
	t.Setenv("BUILDKIT_HOST", s.BuildkitAddress)
	t.Setenv("DATALAYER_CA_BUNDLE", s.CABundle)
	t.Setenv("DATALAYER_REGISTRIES", "")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	return s
}

// config is one environment with these further arguments. Where they say nothing of attestations it has none, which
// builds faster and gives a digest that is equal for equal content.
func (s *stack) config(arguments string) string {
	if !strings.Contains(arguments, "attestations") {
		arguments += "\n  attestations = { sbom = false, provenance = \"none\" }"
	}
	return fmt.Sprintf(`
resource "datalayer_environment" "e" {
  name       = "env-a"
  base       = %q
  repository = %q
%s
  lifecycle { create_before_destroy = true }
}
`, s.BaseReference, s.repository, arguments)
}

// run takes a test through its steps, destroys what is in state then, and checks that the registry is empty.
func (s *stack) run(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	s.runUntil(t, s.nothingLeft(t), steps...)
}

// runUntil is run with a last check of its own. A warning that no check expected fails the test.
func (s *stack) runUntil(t *testing.T, destroyed func(*terraform.State) error, steps ...resource.TestStep) {
	t.Helper()
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: s.factories(), Steps: steps})
	// Not as CheckDestroy: that is left out where a step has destroyed everything already.
	must(t, destroyed(nil))
	for _, warning := range s.warnings() {
		t.Errorf("nobody expected the warning %q: %s", warning.Summary, warning.Detail)
	}
}

// nothingLeft is the last check of every lifecycle: the registry is asked what is left.
func (s *stack) nothingLeft(t *testing.T) func(*terraform.State) error {
	return func(*terraform.State) error { return s.left(t) }
}

// left checks that the registry has exactly this, written as in enginetest.Registry.Left.
func (s *stack) left(t *testing.T, want ...string) error {
	t.Helper()
	left := s.registry.Left(t)
	slices.Sort(left)
	slices.Sort(want)
	if !slices.Equal(left, want) {
		return fmt.Errorf("in the registry: %v, want %v", left, want)
	}
	return nil
}

// holds checks that the registry has the tag and the manifest of each image in state, and nothing else.
func (s *stack) holds(t *testing.T, also ...string) statecheck.StateCheck {
	return stateCheck(func(state *tfjson.State) error {
		want := slices.Clone(also)
		for _, r := range state.Values.RootModule.Resources {
			if r.Type != "datalayer_environment" && r.Type != "datalayer_base_image" {
				continue
			}
			path := strings.TrimPrefix(fmt.Sprint(r.AttributeValues["repository"]), s.registry.Host+"/")
			want = append(want, s.manifestsOf(t, path, fmt.Sprint(r.AttributeValues["digest"]))...)
			if tag, ok := r.AttributeValues["tag"].(string); ok {
				want = append(want, path+":"+tag)
			}
		}
		slices.Sort(want)
		return s.left(t, slices.Compact(want)...)
	})
}

// manifestsOf is an image's own manifest or index, and what the index lists.
func (s *stack) manifestsOf(t *testing.T, path, digest string) []string {
	t.Helper()
	manifests := []string{path + "@" + digest}
	for _, child := range s.registry.Children(t, path, digest) {
		manifests = append(manifests, path+"@"+child)
	}
	return manifests
}

type stateCheck func(*tfjson.State) error

func (check stateCheck) CheckState(_ context.Context, req statecheck.CheckStateRequest, resp *statecheck.CheckStateResponse) {
	resp.Error = check(req.State)
}

// remember keeps an attribute for a later step.
func remember(attribute string, into *string) statecheck.StateCheck {
	return known(attribute, knownvalue.StringFunc(func(value string) error {
		*into = value
		return nil
	}))
}

// breakWith puts a fault between provider and registry for the steps from here on; nil ends it.
func (s *stack) breakWith(choose chooser) func() {
	return func() {
		if choose == nil {
			s.fault.Store(nil)
			return
		}
		s.fault.Store(&choose)
	}
}

// refusing answers every request of this method whose path holds part with this status and body. It asks for more
// time than any operation has, so that nothing waits to ask again.
func refusing(method, part string, status int, body string) chooser {
	return func(r *http.Request) *enginetest.FaultResponse {
		if r.Method != method || !strings.Contains(r.URL.Path, part) {
			return nil
		}
		return &enginetest.FaultResponse{Status: status, Header: http.Header{"Retry-After": {"36000"}}, Body: body}
	}
}

// ociError is the body of a registry's error.
func ociError(code, message string) string {
	return fmt.Sprintf(`{"errors":[{"code":%q,"message":%q}]}`, code, message)
}

// images changes the registry behind the provider's back.
func (s *stack) images() *image.Client { return image.New(image.Options{}) }

func (s *stack) target(t *testing.T) reference.Repository {
	t.Helper()
	parsed, err := reference.ParseRepository(s.repository)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says matches an error with these phrases in this order, however Terraform broke its lines.
func says(phrases ...string) *regexp.Regexp {
	var patterns []string
	for _, phrase := range phrases {
		words := strings.Fields(phrase)
		for i, word := range words {
			words[i] = regexp.QuoteMeta(word)
		}
		patterns = append(patterns, strings.Join(words, `\s+`))
	}
	return regexp.MustCompile(`(?s)` + strings.Join(patterns, ".*"))
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
