package e2b_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestNothingPrintsASecret(t *testing.T) {
	client, err := e2b.New(e2b.Options{APIKey: secret.New("e2b_canary")})
	if err != nil {
		t.Fatal(err)
	}
	sandbox := e2b.Sandbox{SandboxID: "i1", EnvdToken: secret.New("canary"), TrafficToken: secret.New("canary")}
	start := e2b.BuildStart{Registry: &e2b.RegistryLogin{Username: "ci", Password: secret.New("canary")}}
	order := e2b.Order{Start: start, Secrets: []secret.Value{secret.New("canary")}}
	wire := e2b.NewWireSecret("canary")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(strings.Repeat(verb, 8), client, sandbox, client.Running(sandbox), start, *start.Registry, order, wire, e2b.Options{APIKey: secret.New("canary")})
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
			t.Errorf("%s prints a secret: %s", verb, text)
		}
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "wire", wire, "order", order, "sandbox", sandbox)
	if strings.Contains(logged.String(), "canary") {
		t.Errorf("a log shows a secret: %s", logged.String())
	}
	if sent, err := json.Marshal(wire); err != nil || string(sent) != `"canary"` {
		t.Errorf("it is sent as %s, %v", sent, err)
	}
}
