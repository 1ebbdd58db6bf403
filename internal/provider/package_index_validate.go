package provider

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/types"

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
	if known(certificates) && !x509.NewCertPool().AppendCertsFromPEM([]byte(certificates.ValueString())) {
		fault("No CA certificate for the package index", "no PEM certificate could be read in it", "Give the text of the certificates (-----BEGIN CERTIFICATE-----), not a path: file(\"ca.pem\") reads one.", "ca_certificates")
	}
	switch {
	case username.IsNull() != password.IsNull():
		fault("Half a login for the package index", "", fmt.Sprintf("%s.username and %s.password_wo go together: set both or neither.", attribute, attribute))
	case known(username) && (username.ValueString() == "" || strings.Contains(username.ValueString(), ":")):
		fault("User name that the package index cannot be sent", fmt.Sprintf("%q", username.ValueString()), "A user name is not empty and has no colon, which ends it in a Basic login. Remove username and password_wo for an index that asks for none.", "username")
	case known(password) && password.ValueString() == "":
		fault("Empty password for the package index", "", "Remove username and password_wo for an index that asks for no login.", "password_wo")
	}
	return faults
}

// indexURLFaults checks one address, which is at a place in the configuration.
func indexURLFaults(address string, at ...any) problem.List {
	switch parsed, err := url.Parse(address); {
	case err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" || !validPort(parsed.Port()) || strings.ContainsFunc(address, unicode.IsSpace):
		return problem.List{{Title: "Invalid package index", Path: at, Advice: "Write the address of a simple index, such as https://packages.example.com/simple/."}}
	case parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "":
		return problem.List{{Title: "Login in the address of the package index", Path: at, Object: parsed.Scheme + "://" + parsed.Host + parsed.Path, Advice: "Give it in username and password_wo, which reach no state and no log."}}
	}
	return nil
}

// validPort takes no port too.
func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

// secretName is what names a file under /run/secrets; those that start with datalayer- are the builder's own.
var secretName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

const reservedSecret = "datalayer-"

// buildSecretFaults checks the secrets of steps.
func buildSecretFaults(secrets types.Map) problem.List {
	var faults problem.List
	fault := func(name, title, object, advice string) {
		faults = append(faults, &problem.Problem{Title: title, Path: []any{"build_secrets_wo", problem.Key(name)}, Object: object, Advice: advice})
	}
	for _, name := range slices.Sorted(maps.Keys(secrets.Elements())) {
		switch {
		case !secretName.MatchString(name) || strings.HasPrefix(name, reservedSecret):
			fault(name, "Invalid name of a build secret", fmt.Sprintf("%q cannot name a file in /run/secrets", name), fmt.Sprintf("Write letters, digits, \".\", \"_\" or \"-\", and do not start with %q.", reservedSecret))
		case secrets.Elements()[name].IsNull():
			fault(name, "Build secret without a value", fmt.Sprintf("%q is null", name), "Leave the entry out, or give it a value; \"\" makes an empty file.")
		}
	}
	return faults
}
