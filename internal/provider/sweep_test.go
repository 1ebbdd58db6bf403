package provider_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/provider"
)

func TestSweepAsksNoSandboxForItsAddress(t *testing.T) {
	newE2B(t)
	t.Setenv("E2B_SANDBOX_URL", "ftp://sandbox.example.com")
	var out bytes.Buffer
	if code := provider.Sweep("test").Main(t.Context(), nil, &out, &out); code != 0 || !strings.Contains(out.String(), "E2B:\n  nothing of ours") {
		t.Errorf("ended with %d:\n%s", code, out.String())
	}
}

// sweep has no settings but variables, so it names nothing else.
func TestSweepAdvisesVariablesAlone(t *testing.T) {
	newE2B(t)
	t.Setenv("E2B_API_KEY", "e2b_0000000000000000000000000000000000000000")
	var out bytes.Buffer
	if code := provider.Sweep("test").Main(t.Context(), nil, &out, &out); code != 1 {
		t.Errorf("ended with %d", code)
	}
	said := out.String()
	if !strings.Contains(said, "Check E2B_API_KEY, and that") || strings.Contains(said, "provider's e2b settings") || !strings.Contains(said, "Left to remove: 0. In use: 0. Artifacts: 0. Failed: 2.") {
		t.Error(said)
	}
}

func TestSweepHelpListsEachSetting(t *testing.T) {
	var out bytes.Buffer
	if code := provider.Sweep("test").Main(t.Context(), []string{"--help"}, &out, &out); code != 0 {
		t.Errorf("ended with %d", code)
	}
	for _, variable := range []string{"DATALAYER_REGISTRIES", "E2B_API_KEY", "E2B_DOMAIN", "E2B_API_URL", "DOCKER_CONFIG", "AWS_PROFILE", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"} {
		if !strings.Contains(out.String(), variable) {
			t.Errorf("%s is not in:\n%s", variable, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 100 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
}
