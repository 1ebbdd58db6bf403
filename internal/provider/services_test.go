package provider

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

func TestBuildNetwork_ReadsTheBundle(t *testing.T) {
	good := string(enginetest.NewCA(t).PEM)
	for name, c := range map[string]struct{ content, title string }{
		"certificate":    {good, ""},
		"no certificate": {"machine-a\n", "CA bundle cannot be used"},
		"too large":      {good + strings.Repeat("#", 500*1024), "CA bundle cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(caBundleVariable, path)
			network, err := buildNetwork()
			var found *problem.Problem
			switch {
			case c.title == "" && (err != nil || string(network.CABundle) != c.content):
				t.Errorf("the bundle is %q, error %v", network.CABundle, err)
			case c.title != "" && (!errors.As(err, &found) || found.Title != c.title || !strings.Contains(found.Object, path)):
				t.Errorf("error is %v, want %q", err, c.title)
			}
		})
	}
}
