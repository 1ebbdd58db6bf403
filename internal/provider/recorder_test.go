package provider_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

// recorder notes what the provider answers to Terraform: the test framework shows neither warnings nor the attribute
// that a diagnostic is about.
type recorder struct {
	mu          sync.Mutex
	diagnostics []*tfprotov6.Diagnostic
	reads       int
}

func (r *recorder) factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){"datalayer": func() (tfprotov6.ProviderServer, error) {
		server, err := providerserver.NewProtocol6WithError(provider.New("test")())()
		return recorded{server, r}, err
	}}
}

func (r *recorder) note(diagnostics []*tfprotov6.Diagnostic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diagnostics = append(r.diagnostics, diagnostics...)
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diagnostics = nil
}

// takeReads gives how often Terraform refreshed a resource since the last call.
func (r *recorder) takeReads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.reads = 0 }()
	return r.reads
}

// warnings are those that no test has claimed yet.
func (r *recorder) warnings() []*tfprotov6.Diagnostic {
	return r.of(tfprotov6.DiagnosticSeverityWarning)
}

func (r *recorder) errors() []*tfprotov6.Diagnostic { return r.of(tfprotov6.DiagnosticSeverityError) }

func (r *recorder) of(severity tfprotov6.DiagnosticSeverity) []*tfprotov6.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.diagnostics), func(d *tfprotov6.Diagnostic) bool { return d.Severity != severity })
}

// warned checks that there was a warning with this summary whose detail holds these phrases, and claims all like it.
func (r *recorder) warned(t *testing.T, summary string, phrases ...string) {
	t.Helper()
	found := false
	for _, warning := range r.warnings() {
		if warning.Summary != summary {
			continue
		}
		found = true
		for _, phrase := range phrases {
			if !strings.Contains(warning.Detail, phrase) {
				t.Errorf("%q is not in the warning %q: %s", phrase, summary, warning.Detail)
			}
		}
	}
	if !found {
		t.Errorf("there was no warning %q", summary)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.diagnostics = slices.DeleteFunc(r.diagnostics, func(d *tfprotov6.Diagnostic) bool {
		return d.Severity == tfprotov6.DiagnosticSeverityWarning && d.Summary == summary
	})
}

// recorded is a provider server whose answers are noted.
type recorded struct {
	tfprotov6.ProviderServer
	recorder *recorder
}

func (s recorded) ValidateProviderConfig(ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	resp, err := s.ProviderServer.ValidateProviderConfig(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ConfigureProvider(ctx context.Context, req *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	resp, err := s.ProviderServer.ConfigureProvider(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.ProviderServer.ValidateResourceConfig(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ReadDataSource(ctx context.Context, req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	resp, err := s.ProviderServer.ReadDataSource(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	s.recorder.note(resp.Diagnostics)
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	s.recorder.reads++
	return resp, err
}

func (s recorded) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	resp, err := s.ProviderServer.ImportResourceState(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) ValidateEphemeralResourceConfig(ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	resp, err := s.ProviderServer.ValidateEphemeralResourceConfig(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}

func (s recorded) OpenEphemeralResource(ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	resp, err := s.ProviderServer.OpenEphemeralResource(ctx, req)
	s.recorder.note(resp.Diagnostics)
	return resp, err
}
