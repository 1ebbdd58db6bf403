package e2b

import (
	"encoding/json"
	"log/slog"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// wireSecret is a secret in a request or an answer: JSON has it in the clear, and no way of printing it has.
type wireSecret struct{ secret.Value }

// MarshalJSON gives the secret to who must send it.
func (s wireSecret) MarshalJSON() ([]byte, error) { return json.Marshal(s.Reveal()) }

// UnmarshalJSON takes it from an answer; null is none.
func (s *wireSecret) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return err
	}
	s.Value = secret.New(text)
	return nil
}

// LogValue keeps it out of slog, whose handlers would ask for its JSON.
func (s wireSecret) LogValue() slog.Value { return slog.StringValue(s.String()) }
