package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// RegistriesVariable is the environment variable that holds the provider's registries as JSON.
const RegistriesVariable = "DATALAYER_REGISTRIES"

const registriesForm = `Write {"host": {"username": "…", "password": "…"}}.`

// ParseRegistries reads DATALAYER_REGISTRIES: {"host": {"username": "...", "password": "..."}}. An empty text is no
// registries. Errors name the host and the key, never a value.
func ParseRegistries(jsonText string) (Static, error) {
	if strings.TrimSpace(jsonText) == "" {
		return nil, nil
	}
	var hosts map[string]json.RawMessage
	if err := decode(jsonText, &hosts); err != nil {
		return nil, &problem.Problem{
			Title: "Registries not understood", Object: RegistriesVariable, Cause: err, Advice: registriesForm,
		}
	}
	parsed := Static{}
	for _, address := range slices.Sorted(maps.Keys(hosts)) {
		host, err := reference.ParseHost(address)
		if err != nil {
			return nil, &problem.Problem{
				Title: "Registries with a host that is none", Object: RegistriesVariable, Cause: err, Advice: registriesForm,
			}
		}
		if _, twice := parsed[host]; twice {
			return nil, &problem.Problem{
				Title: "Registries name a host twice", Object: RegistriesVariable + ", " + host, Advice: "Keep one of the two entries.",
			}
		}
		if parsed[host], err = parseCredential(hosts[address]); err != nil {
			return nil, &problem.Problem{
				Title: "Registry credential not understood", Object: RegistriesVariable + ", " + host, Cause: err, Advice: registriesForm,
			}
		}
	}
	return parsed, nil
}

func parseCredential(text json.RawMessage) (image.Credential, error) {
	var fields map[string]json.RawMessage
	if err := decode(string(text), &fields); err != nil || fields == nil {
		return image.Credential{}, errors.New("it is not an object with username and password")
	}
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key != "username" && key != "password" {
			return image.Credential{}, fmt.Errorf("key %q is not known", key)
		}
		var value *string
		if err := json.Unmarshal(fields[key], &value); err != nil || value == nil {
			return image.Credential{}, fmt.Errorf("%s is not a string", key)
		}
		values[key] = *value
	}
	for _, key := range []string{"username", "password"} {
		if values[key] == "" {
			return image.Credential{}, fmt.Errorf("%s is missing or empty", key)
		}
	}
	return image.Credential{Username: values["username"], Password: secret.New(values["password"]), Source: RegistriesVariable}, nil
}

// decode reads one JSON value and says where it is wrong, without the text: encoding/json may repeat a value.
func decode(text string, into any) error {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	err := decoder.Decode(into)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON (near byte %d)", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends too early")
	case err != nil:
		return errors.New("it is not a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows after the JSON object")
	}
	return nil
}
