package awstest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// names are the host names that AWS answers under, in each region.
func names() []string {
	all := []string{"sts.amazonaws.com"}
	for _, region := range Regions {
		all = append(all, "sts."+region+".amazonaws.com", "sts-fips."+region+".amazonaws.com", "api.ecr."+region+".amazonaws.com",
			"api.ecr-fips."+region+".amazonaws.com", "ecr-fips."+region+".amazonaws.com", "ecr."+region+".api.aws", "ecr-fips."+region+".api.aws", "*.dkr.ecr."+region+".amazonaws.com", "*.dkr.ecr-fips."+region+".amazonaws.com",
			"*.dkr-ecr."+region+".on.aws", layersHost(region))
	}
	return all
}

// startProxy starts the CONNECT proxy, behind which this AWS answers for its names and nobody for others.
func (c *Cloud) startProxy(t testing.TB) {
	t.Helper()
	known := names()
	behind := &tunnels{connections: make(chan net.Conn), done: make(chan struct{})}
	aws := &http.Server{Handler: c, TLSConfig: c.CA.Server(t, known...).TLS(t)} //nolint:gosec // It lives for a test.
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = aws.Serve(tls.NewListener(behind, aws.TLSConfig)) // It always ends in an error, that of Close.
	}()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, port, err := net.SplitHostPort(r.Host)
		isOurs := err == nil && port == "443" && func() bool {
			for _, name := range known {
				if ok, _ := path.Match(name, host); ok && strings.Count(name, ".") == strings.Count(host, ".") {
					return true
				}
			}
			return false
		}()
		if r.Method != http.MethodConnect || !isOurs {
			c.mu.Lock()
			c.strangers = append(c.strangers, r.Host)
			c.mu.Unlock()
			http.Error(w, "this proxy reaches AWS only", http.StatusForbidden)
			return
		}
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if _, err := io.WriteString(connection, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil || buffered.Reader.Buffered() > 0 || !behind.offer(connection) {
			_ = connection.Close()
		}
	}))
	c.ProxyURL = proxy.URL
	t.Cleanup(func() {
		proxy.Close()
		_ = aws.Close()
		_ = behind.Close()
		<-finished
	})
}

// tunnels is a listener for the connections that the proxy opens.
type tunnels struct {
	connections chan net.Conn
	done        chan struct{}
	once        sync.Once
}

func (l *tunnels) offer(connection net.Conn) bool {
	select {
	case l.connections <- connection:
		return true
	case <-l.done:
		return false
	}
}

func (l *tunnels) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *tunnels) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *tunnels) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Client reaches this AWS from the test's own process.
func (c *Cloud) Client(t testing.TB) *http.Client {
	t.Helper()
	proxy, err := url.Parse(c.ProxyURL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: c.CA.Trusting(t)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Remote starts a BuildKit daemon that reaches AWS through the proxy alone.
func (c *Cloud) Remote(t testing.TB) *enginetest.Remote {
	t.Helper()
	return enginetest.StartRemote(t, c.route(t)...)
}

// PlainRemote is Remote without TLS between client and daemon; it gives the daemon's address.
func (c *Cloud) PlainRemote(t testing.TB) string {
	t.Helper()
	return enginetest.StartPlainRemote(t, c.route(t)...)
}

// route is the environment of a daemon that reaches AWS.
func (c *Cloud) route(t testing.TB) []string {
	t.Helper()
	return []string{"HTTPS_PROXY=" + c.ProxyURL, "SSL_CERT_FILE=" + enginetest.WritePEM(t, c.CA.PEM)}
}
