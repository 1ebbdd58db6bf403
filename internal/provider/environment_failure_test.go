package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// tainted checks that a create that failed half-way is in state with its digest, and that no attribute is why it is replaced.
type tainted struct{}

func (tainted) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, change := range req.Plan.ResourceChanges {
		before, ok := change.Change.Before.(map[string]any)
		if change.Address != address || !ok {
			continue
		}
		digest, _ := before["digest"].(string)
		if paths := change.Change.ReplacePaths; len(paths) > 0 || !strings.HasPrefix(digest, "sha256:") {
			resp.Error = fmt.Errorf("%s with digest %q is replaced because of %v, want a digest and no attribute", address, digest, paths)
		}
		return
	}
	resp.Error = fmt.Errorf("%s is not in state", address)
}

// isNew checks that state holds nothing, so that the next plan creates.
func isNew(s *stack, config string) resource.TestStep {
	return resource.TestStep{PreConfig: s.breakWith(nil), Config: config, PlanOnly: true, ExpectNonEmptyPlan: true, ConfigPlanChecks: resource.ConfigPlanChecks{
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate)},
	}}
}

func TestCreate_FailureAfterThePushTaintsAndTheNextApplyReplaces(t *testing.T) {
	tagRefused := refusing(http.MethodPut, "/manifests/v1-", http.StatusForbidden, ociError("DENIED", "tags are closed"))
	failed := says("Tag was refused by the registry", "/team/env:v1-", "403 Forbidden", "tags are closed")
	warned := func(s *stack, t *testing.T) func() {
		return func() { s.warned(t, "Tag of the environment is gone") }
	}
	t.Run("then apply", func(t *testing.T) {
		s := newStack(t)
		check := expect(plancheck.ResourceActionCreateBeforeDestroy)
		check.PreApply = append(check.PreApply, tainted{})
		s.run(t,
			resource.TestStep{PreConfig: s.breakWith(tagRefused), Config: s.config(""), ExpectError: failed},
			resource.TestStep{PreConfig: s.breakWith(nil), Config: s.config(""), ConfigPlanChecks: check, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}, PostApplyFunc: warned(s, t)},
		)
	})
	t.Run("then destroy", func(t *testing.T) {
		s := newStack(t)
		s.run(t,
			resource.TestStep{PreConfig: s.breakWith(tagRefused), Config: s.config(""), ExpectError: failed},
			resource.TestStep{PreConfig: s.breakWith(nil), Config: s.config(""), Destroy: true, PostApplyFunc: warned(s, t)},
		)
	})
}

// A good artifact is never tainted by a lesser failure: what could not be read follows at the next refresh.
func TestCreate_ImageThatCannotBeReadBackIsGood(t *testing.T) {
	var tagged atomic.Bool
	s := newStack(t)
	s.run(t,
		resource.TestStep{
			PreConfig: s.breakWith(func(r *http.Request) *enginetest.FaultResponse {
				if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/v1-") {
					tagged.Store(true)
					return nil
				}
				if !tagged.Load() || r.Method != http.MethodGet {
					return nil
				}
				s.breakWith(nil)()
				return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: ociError("DENIED", "pull is closed")}
			}),
			Config:        s.config(""),
			PostApplyFunc: func() { s.warned(t, "Pushed image was not read back", "pull is closed") },
		},
		resource.TestStep{
			Config:            s.config(""),
			ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			ConfigStateChecks: []statecheck.StateCheck{s.holds(t), known("media_type", matching("manifest")), known("size_bytes", knownvalue.NotNull()), known("manifests", knownvalue.MapSizeExact(1))},
		},
	)
}

func TestCreate_RefusedBeforeTheBuildLeavesNothing(t *testing.T) {
	s := newStack(t)
	upload := func(status int, code, message string) chooser {
		return refusing(http.MethodPost, "/blobs/uploads/", status, ociError(code, message))
	}
	tests := []struct {
		fault chooser
		says  []string
	}{
		{upload(401, "UNAUTHORIZED", "who are you"), []string{"Push to the repository is not possible", s.repository, "401 Unauthorized", "who are you", "credentials"}},
		{upload(403, "DENIED", "read only"), []string{"Push to the repository is not possible", s.repository, "403 Forbidden", "read only", "credentials"}},
		{upload(404, "NAME_UNKNOWN", "no such repository"), []string{"Repository does not exist", s.repository, "404 Not Found", "no such repository"}},
		{func(*http.Request) *enginetest.FaultResponse { return &enginetest.FaultResponse{Cut: true} },
			[]string{"Registry closed the connection", s.repository, "EOF", "the repository does not exist"}},
	}
	var steps []resource.TestStep
	for _, tt := range tests {
		after := isNew(s, s.config(""))
		after.PreConfig = func() {
			for _, request := range s.registry.Requests() {
				if request.Method != http.MethodPost || !strings.HasSuffix(request.Path, "/blobs/uploads/") {
					t.Errorf("%s was sent, want the probe alone", request)
				}
			}
			if len(s.registry.Requests()) == 0 {
				t.Error("the push permission was not probed")
			}
			must(t, s.left(t))
			s.breakWith(nil)()
		}
		broken := resource.TestStep{Config: s.config(""), ExpectError: says(tt.says...), PreConfig: func() {
			s.registry.ResetRequests()
			s.breakWith(tt.fault)()
		}}
		steps = append(steps, broken, after)
	}
	s.run(t, steps...)
}

func TestCreate_FailureBeforeThePushLeavesNothing(t *testing.T) {
	s := newStack(t)
	baseRepository, _, _ := strings.Cut(s.BaseReference, "@")
	missing := baseRepository + "@sha256:" + strings.Repeat("0", 64)
	socket := "unix://" + filepath.Join(t.TempDir(), "nobody.sock")
	provider := fmt.Sprintf("provider \"datalayer\" {\n  buildkit = { address = %q }\n}\n", socket)
	tests := map[string]struct {
		config string
		says   []string
	}{
		"daemon unreachable":  {provider + s.config(""), []string{"BuildKit daemon does not answer", socket, "buildkit.address", "BUILDKIT_HOST"}},
		"wrong platform":      {s.config(`platforms = ["linux/arm64"]`), []string{"Base image lacks the platform", s.BaseReference + " is for linux/amd64, not linux/arm64"}},
		"missing digest":      {strings.Replace(s.config(""), s.BaseReference, missing, 1), []string{"Base image does not exist", missing, "404 Not Found"}},
		"missing repository":  {strings.Replace(s.config(""), "/base@", "/bass@", 1), []string{"Base image does not exist", "/bass@sha256:", "404 Not Found"}},
		"another Python":      {s.config(`python_version = "3.11"`), []string{"3.11", s.BasePython}},
		"failing command":     {s.config(`post_install = [{ command = "echo cnry-words >&2; exit 3" }]`), []string{"Post-install command failed", "cnry-words"}},
		"no network":          {s.config(`post_install = [{ command = "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 5)'" }]`), []string{"Post-install command failed", "unreachable"}},
		"CA bundle not there": {s.config(""), []string{"CA bundle cannot be read", "DATALAYER_CA_BUNDLE", "/nowhere.pem"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "CA bundle") {
				t.Setenv("DATALAYER_CA_BUNDLE", filepath.Join(t.TempDir(), "nowhere.pem"))
			}
			s.run(t,
				resource.TestStep{Config: tt.config, ExpectError: says(tt.says...)},
				isNew(s, tt.config),
			)
		})
	}
}

func TestCreate_BuildAddressComesFromTheProviderFirst(t *testing.T) {
	s := newStack(t)
	t.Setenv("BUILDKIT_HOST", "unix:///nowhere/buildkitd.sock")
	config := fmt.Sprintf("provider \"datalayer\" {\n  buildkit = { address = %q, max_parallel = 1 }\n}\n", s.BuildkitAddress) + s.config("")
	s.run(t, resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{s.holds(t)}})
}
