package retry

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ProxyError says that a proxy did not open the way to a host, so that the request was not sent.
type ProxyError struct {
	// Host is the proxy's, Status what it answered, and Words the same with its reason: "407 Proxy Authentication Required".
	Host, Words string
	Status      int
}

// Error names the proxy, without its login.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("the proxy %s did not let the request through: %s", e.Host, e.Words)
}

// Advice says what to do so that a host is reached.
func (e *ProxyError) Advice(host string) string {
	return fmt.Sprintf("Check HTTPS_PROXY and the login in it, and whether the proxy allows %s; NO_PROXY names hosts that are asked without it.", host)
}

// RetryableError tells whether the proxy may let the same request through later. AWS's SDK asks for it by this name.
func (e *ProxyError) RetryableError() bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// FromProxy is the OnProxyConnectResponse of an [http.Transport]. Without it net/http makes of a refusal an error that
// does not tell it from a failure of the network, and a login that the proxy refuses would be sent again and again.
func FromProxy(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyError{Host: proxy.Host, Words: strings.TrimSpace(answer.Status), Status: answer.StatusCode}
}
