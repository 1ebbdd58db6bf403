package image

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

func TestAdviceTellsWhatItMayBe(t *testing.T) {
	reset := &Error{Failure: retry.Failure{Cause: syscall.ECONNRESET}}
	for _, c := range []struct {
		host string
		err  error
		says string
		want bool
	}{
		{"127.0.0.1:5000", reset, "plain HTTP", true},
		{"registry.example.com", reset, "plain HTTP", false},
		{"registry.example.com", fmt.Errorf("its media type is %q: %w", "application/x", ErrNotImage), "build cache", true},
	} {
		if text := advice(reference.Repository{Host: c.host, Path: "team/env"}, c.err); strings.Contains(text, c.says) != c.want {
			t.Errorf("advice on %v at %s is %q", c.err, c.host, text)
		}
	}
}
