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
	"unicode"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// RegistriesVariable is the environment variable that holds the provider's registries as JSON.
const RegistriesVariable = "DATALAYER_REGISTRIES"

const registriesForm = `Write {"host": {"username": "…", "password": "…"}}, or {"host": {"ecr": {"role_arn": "…"}}} for a registry of Amazon ECR.`

// Registries are what a configuration says of registry hosts: a login, or who asks AWS for it.
type Registries struct {
	Logins Static
	ECR    map[string]Identity
}

// ParseRegistries reads DATALAYER_REGISTRIES: {"host": {"username": "...", "password": "..."}}, and for registries of
// ECR {"host": {"ecr": {"role_arn": "...", "external_id": "...", "session_duration": "15m", "profile": "..."}}}, each key
// of it optional. An empty text is no registries. Errors name the host and the key, never a value.
func ParseRegistries(jsonText string) (Registries, error) {
	none := Registries{}
	parsed := Registries{Logins: Static{}, ECR: map[string]Identity{}}
	if strings.TrimSpace(jsonText) == "" {
		return parsed, nil
	}
	var hosts map[string]json.RawMessage
	if err := decode(jsonText, &hosts); err != nil {
		return none, &problem.Problem{
			Title: "Registries not understood", Object: RegistriesVariable, Cause: err, Advice: registriesForm,
		}
	}
	for _, address := range slices.Sorted(maps.Keys(hosts)) {
		host, err := reference.ParseHost(address)
		if err != nil {
			return none, &problem.Problem{
				Title: "Registries with a host that is none", Object: RegistriesVariable, Cause: err, Advice: registriesForm,
			}
		}
		_, login := parsed.Logins[host]
		if _, ecr := parsed.ECR[host]; ecr || login {
			return none, &problem.Problem{
				Title: "Registries name a host twice", Object: RegistriesVariable + ", " + host, Advice: "Keep one of the two entries.",
			}
		}
		err = parsed.add(host, hosts[address])
		var whole *problem.Problem
		if errors.As(err, &whole) {
			said := *whole
			said.Object = RegistriesVariable + ", " + host + ": " + whole.Object
			return none, &said
		}
		if err != nil {
			return none, &problem.Problem{
				Title: "Registry credential not understood", Object: RegistriesVariable + ", " + host, Cause: err, Advice: registriesForm,
			}
		}
	}
	return parsed, nil
}

// add reads the entry of one host.
func (r *Registries) add(host string, text json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := decode(string(text), &fields); err != nil || fields == nil {
		return errors.New("it is not an object with username and password, or with ecr")
	}
	if ecr, ok := fields["ecr"]; ok {
		if len(fields) > 1 {
			return errors.New("ecr stands in place of username and password, not beside them")
		}
		identity, err := parseIdentity(host, ecr)
		r.ECR[host] = identity
		return err
	}
	values, err := stringsOf(fields, "", "username", "password")
	if err != nil {
		return err
	}
	for _, key := range []string{"username", "password"} {
		if values[key] == "" {
			return fmt.Errorf("%s is missing or empty", key)
		}
	}
	if strings.ContainsFunc(values["password"], unicode.IsControl) {
		return errors.New("password holds a line break or another control character, which no server takes")
	}
	r.Logins[host] = image.Credential{Username: values["username"], Password: secret.New(values["password"]), Source: RegistriesVariable}
	return CheckLogin(values["username"])
}

func parseIdentity(host string, text json.RawMessage) (Identity, error) {
	at, isECR := ParseECRHost(host)
	if !isECR {
		return Identity{}, errors.New("ecr is for private registries of Amazon ECR, and the host is none")
	}
	var fields map[string]json.RawMessage
	if err := decode(string(text), &fields); err != nil || fields == nil {
		return Identity{}, errors.New("ecr is not an object")
	}
	values, err := stringsOf(fields, "ecr.", "role_arn", "external_id", "session_duration", "profile")
	if err != nil {
		return Identity{}, err
	}
	identity := Identity{RoleARN: values["role_arn"], ExternalID: values["external_id"], Profile: values["profile"]}
	if value, ok := values["session_duration"]; ok {
		if identity.SessionDuration, err = ParseSessionDuration(value); err != nil {
			return Identity{}, errors.New("ecr.session_duration is not a duration from 15m to 12h")
		}
	}
	if _, ok := values["role_arn"]; ok && !ValidRoleARN(identity.RoleARN) {
		return Identity{}, errors.New("ecr.role_arn is not the ARN of an IAM role")
	}
	if _, ok := values["external_id"]; ok && !ValidExternalID(identity.ExternalID) {
		return Identity{}, errors.New("ecr.external_id is not an external id: 2 to 1224 letters, digits and +=,.@:/-_")
	}
	return identity, at.CheckRole(identity.RoleARN)
}

// stringsOf reads an object whose members are strings of these names.
func stringsOf(fields map[string]json.RawMessage, prefix string, known ...string) (map[string]string, error) {
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("key %q is not known", prefix+key)
		}
		var value *string
		if err := json.Unmarshal(fields[key], &value); err != nil || value == nil {
			return nil, fmt.Errorf("%s%s is not a string", prefix, key)
		}
		values[key] = *value
	}
	return values, nil
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
