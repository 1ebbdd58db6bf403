package jupyter

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// Endpoint is where a Jupyter Server is reached, and how.
type Endpoint struct {
	// URL is the server's base: "http://127.0.0.1:8888", or with the path that it calls base_url.
	URL *url.URL
	// Token is the server's own (IdentityProvider.token). It goes into the Authorization header, or into the query where
	// Header has an Authorization of its own.
	Token secret.Value
	// Header goes with each request: it is what a service before the server asks for.
	Header http.Header
	// Client carries the requests and the WebSockets; nil takes http.DefaultClient. It must not limit their time.
	Client *http.Client
}

// Format prints the address alone, whatever the verb.
func (e Endpoint) Format(state fmt.State, _ rune) {
	address := "no address"
	if e.URL != nil {
		address = e.URL.Redacted()
	}
	_, _ = io.WriteString(state, "Jupyter Server at "+address)
}

// String is the address.
func (e Endpoint) String() string { return fmt.Sprintf("%v", e) }

func (e Endpoint) client() *http.Client {
	if e.Client != nil {
		return e.Client
	}
	return http.DefaultClient
}

// sent gives the address of a path below the base ("api/kernels"), and the headers, both with what authenticates.
func (e Endpoint) sent(query url.Values, path ...string) (*url.URL, http.Header) {
	target := e.URL.JoinPath(path...)
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	values := target.Query()
	for name, value := range query {
		values[name] = value
	}
	if !e.Token.Empty() {
		if header.Get("Authorization") == "" {
			header.Set("Authorization", "token "+e.Token.Reveal())
		} else {
			values.Set("token", e.Token.Reveal())
		}
	}
	target.RawQuery = values.Encode()
	return target, header
}
