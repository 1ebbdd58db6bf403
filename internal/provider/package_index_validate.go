package provider

import (
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// packageIndexFaults checks a package index, which the attribute holds: package_index of an image, index of a lock.
// Terraform asks again at apply, when all is known.
func packageIndexFaults(attribute string, index types.Object) problem.List {
	var faults problem.List
	fault := func(title, object, advice string, at ...any) {
		faults = append(faults, &problem.Problem{Title: title, Path: append([]any{attribute}, at...), Object: object, Advice: advice})
	}
	known := func(v types.String) bool { return !v.IsNull() && !v.IsUnknown() }
	certificates := member[types.String](index, "ca_certificates")
	username, password := member[types.String](index, "username"), member[types.String](index, "password_wo")
	if address := member[types.String](index, "url"); known(address) {
		faults = append(faults, indexURLFaults(address.ValueString(), attribute, "url")...)
	}
	for i, element := range member[types.List](index, "extra_urls").Elements() {
		if address, ok := element.(types.String); ok && known(address) {
			faults = append(faults, indexURLFaults(address.ValueString(), attribute, "extra_urls", i)...)
		}
	}
	if size(certificates) > buildkit.MaxSecret {
		fault("CA certificates of the package index are too large", fmt.Sprintf("%d bytes", size(certificates)), fmt.Sprintf("BuildKit takes at most %d bytes (500 KiB). Give the certificates of the index's own authorities alone.", buildkit.MaxSecret), "ca_certificates")
	} else if known(certificates) && !x509.NewCertPool().AppendCertsFromPEM([]byte(certificates.ValueString())) {
		fault("No CA certificate for the package index", "no PEM certificate could be read in it", "Give the text of the certificates (-----BEGIN CERTIFICATE-----), not a path: file(\"ca.pem\") reads one.", "ca_certificates")
	}
	switch {
	case username.IsNull() && !password.IsNull(): // The other half is seen by needSecrets.
		fault("Half a login for the package index", "", fmt.Sprintf("%s.username and %s.password_wo go together: set both or neither.", attribute, attribute))
	case known(username) && (username.ValueString() == "" || strings.ContainsFunc(username.ValueString(), func(r rune) bool { return r == ':' || unicode.IsControl(r) })):
		fault("User name that the package index cannot be sent", fmt.Sprintf("%q", username.ValueString()), "A user name is not empty and has no colon, which ends it in a Basic login, nor a line break or another control character. Remove username and password_wo for an index that asks for none.", "username")
	case known(password) && password.ValueString() == "":
		fault("Empty password for the package index", "", "Remove username and password_wo for an index that asks for no login.", "password_wo")
	}
	return append(faults, passwordFaults(password, attribute, "password_wo")...)
}

// indexURLFaults checks one address, which is at a place in the configuration.
func indexURLFaults(address string, at ...any) problem.List {
	refused := func(why string) problem.List {
		return problem.List{{Title: "Invalid package index", Path: at, Object: fmt.Sprintf("%q", problem.Address(address)), Cause: errors.New(why),
			Advice: "Write the address of a simple index, such as https://packages.example.com/simple/."}}
	}
	parsed, err := url.Parse(address)
	var bare string
	if err == nil {
		bare = parsed.Scheme + "://" + parsed.Host + parsed.Path
	}
	switch {
	case strings.ContainsFunc(address, unicode.IsSpace):
		return refused("it holds a blank or a line break: trimspace() removes those at its ends")
	case err != nil:
		return refused("it is no URL")
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return refused("an index is reached by https:// or http://")
	case parsed.Hostname() == "":
		return refused("it has no host")
	case !validPort(parsed.Port()):
		return refused("a port is a number from 1 to 65535")
	case parsed.User != nil:
		return problem.List{{Title: "Login in the address of the package index", Path: at, Object: bare, Advice: "Give it in username and password_wo, which reach no state and no log."}}
	case parsed.RawQuery != "" || parsed.Fragment != "":
		// A token may be in it, so it is not shown.
		return problem.List{{Title: "Query or fragment in the address of the package index", Path: at, Object: bare, Advice: "Leave out what follows the \"?\" or \"#\": addresses of packages are made by adding to this one. A token goes into username and password_wo."}}
	}
	return nil
}

// passwordFaults refuses what no login by password can hold (RFC 7617). A line break is most often the file's, and the server
// would answer with a bare 401.
func passwordFaults(password types.String, at ...any) problem.List {
	if !strings.ContainsFunc(password.ValueString(), unicode.IsControl) {
		return nil
	}
	return problem.List{{Title: "Control character in a password", Path: at, Cause: errors.New("the password holds a line break or another control character, which no server takes"),
		Advice: "A file ends with a line break: trimspace(file(\"…\")) leaves it out."}}
}

// validPort takes no port too.
func validPort(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && number > 0
}

// secretName is what names a file under /run/secrets; those that start with datalayer- are the builder's own.
var secretName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

const reservedSecret = "datalayer-"

// size is the length of a text in bytes; 0 for what is null or unknown.
func size(value attr.Value) int {
	text, _ := value.(types.String)
	return len(text.ValueString())
}

// buildSecretFaults checks the secrets of steps.
func buildSecretFaults(secrets types.Map) problem.List {
	var faults problem.List
	fault := func(name, title, object, advice string) {
		faults = append(faults, &problem.Problem{Title: title, Path: []any{"build_secrets_wo", problem.Key(name)}, Object: object, Advice: advice})
	}
	for _, name := range slices.Sorted(maps.Keys(secrets.Elements())) {
		switch {
		case !secretName.MatchString(name) || strings.HasPrefix(name, reservedSecret):
			fault(name, "Invalid name of a build secret", fmt.Sprintf("%q cannot name a file in /run/secrets", name), fmt.Sprintf("Write at most 128 letters, digits, \".\", \"_\" or \"-\", the first a letter, a digit or \"_\", and do not start with %q.", reservedSecret))
		case size(secrets.Elements()[name]) > buildkit.MaxSecret:
			fault(name, "Build secret is too large", fmt.Sprintf("%q has %d bytes", name, size(secrets.Elements()[name])), fmt.Sprintf("BuildKit takes secrets of at most %d bytes (500 KiB). Give the steps a key, and let them fetch what it opens.", buildkit.MaxSecret))
		}
	}
	return faults
}
