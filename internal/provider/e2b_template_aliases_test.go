package provider

import "testing"

func TestNameOf(t *testing.T) {
	for _, tt := range []struct {
		names       []string
		asked, want string
	}{
		{[]string{"acme/agent"}, "agent", "agent"},
		{[]string{"acme/agent"}, "acme/agent", "agent"},
		{[]string{"acme/agent"}, "k3v9q0c2w7x1z5b8n4m6", "agent"},
		{[]string{"legacy", "acme/agent"}, "agent", "agent"},
		{[]string{"legacy", "acme/agent"}, "k3v9q0c2w7x1z5b8n4m6", "agent"},
		{[]string{"legacy", "acme/agent"}, "legacy", "legacy"},
		{[]string{"acme/other", "acme/agent"}, "agent", "agent"},
		{[]string{"legacy"}, "k3v9q0c2w7x1z5b8n4m6", "legacy"},
		{nil, "agent", "agent"},
		{nil, "acme/agent", "agent"},
	} {
		if got := nameOf(tt.names, tt.asked); got != tt.want {
			t.Errorf("asked for %q, of %q it is %q, want %q", tt.asked, tt.names, got, tt.want)
		}
	}
}
