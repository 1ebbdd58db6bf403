package buildkit_test

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// privateIndex is a package index of one login and one wheel, and the lock of that wheel.
func privateIndex(t *testing.T) (index buildkit.PackageIndex, lock, version string) {
	t.Helper()
	served := enginetest.StartIndex(t)
	address, err := url.Parse(served.URL)
	if err != nil {
		t.Fatal(err)
	}
	return buildkit.PackageIndex{URL: address, Username: served.Username, Password: secret.New(enginetest.IndexPassword), CACertificates: served.CA.PEM}, served.Lock, served.Version
}

func TestPrivateIndexIsUsedAndItsLoginIsNowhere(t *testing.T) {
	b := newBench(t)
	index, lock, version := privateIndex(t)
	request := b.request(t, lock)
	request.PackageIndex = &index
	request.Attestations.Provenance = "max"
	logged := &strings.Builder{}
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Packages["private-tool"] != version {
		t.Errorf("packages are %v", published.Packages)
	}
	statement := b.statement(t, request, published.Attestations[0])
	for place, text := range map[string]string{"log": logged.String(), "provenance": statement, "config": string(published.Image.Configs[environment.DefaultPlatform].Raw)} {
		for _, spelling := range []string{enginetest.IndexPassword, url.QueryEscape(enginetest.IndexPassword), url.PathEscape(enginetest.IndexPassword), base64.StdEncoding.EncodeToString([]byte(enginetest.IndexPassword))} {
			if strings.Contains(text, spelling) {
				t.Errorf("%q is in the %s", spelling, place)
			}
		}
	}
	if !strings.Contains(logged.String(), "Successfully installed private-tool-"+version) {
		t.Errorf("pip's own output is not in the log:\n%s", logged)
	}
}

func TestPrivateIndexThatDoesNotServe(t *testing.T) {
	b := newBench(t)
	answering := func(status int) func(*buildkit.PackageIndex) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		return func(i *buildkit.PackageIndex) {
			i.URL = &url.URL{Scheme: "http", Host: strings.TrimPrefix(server.URL, "http://")}
		}
	}
	for name, c := range map[string]struct {
		change func(*buildkit.PackageIndex)
		title  string
		says   string
	}{
		"no package":   {answering(http.StatusNotFound), "Package index does not have the package", "index answered 404 Not Found for private-tool"},
		"out of order": {answering(http.StatusInternalServerError), "Package index failed", "index answered 500 Internal Server Error for private-tool"},
		"login":        {func(i *buildkit.PackageIndex) { i.Password = secret.New("cnry-wrong-password") }, "Package index refused the login", "index answered 401"},
		"certificate":  {func(i *buildkit.PackageIndex) { i.CACertificates = enginetest.NewCA(t).PEM }, "Certificate of the package index is not trusted by pip", "CERTIFICATE_VERIFY_FAILED"},
		"silent": {func(i *buildkit.PackageIndex) {
			i.URL = &url.URL{Scheme: "http", Host: "127.0.0.1:9", Path: "/simple/"}
		}, "Package index cannot be reached", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			index, lock, _ := privateIndex(t)
			c.change(&index)
			request := b.request(t, lock)
			request.PackageIndex = &index
			_, err := b.publish(t.Context(), request)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title || !strings.Contains(found.Detail(), c.says) || !strings.Contains(found.Advice, "package_index") || len(found.Path) != 1 || found.Path[0] != "package_index" {
				t.Fatalf("error is %v\n%s", err, problem.From(err, "")[0].Detail())
			}
			if strings.Contains(found.Detail(), "cnry-wrong") {
				t.Errorf("the password shows:\n%s", found.Detail())
			}
		})
	}
}

// TestPrivateIndexWithoutTLSIsAsked has a name that pip does not take for this machine's own, which it would ask anyway.
func TestPrivateIndexWithoutTLSIsAsked(t *testing.T) {
	b := newBench(t)
	index, lock, version := privateIndex(t)
	plain := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: index.URL.Host}) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	})
	t.Cleanup(plain.Close)
	request := b.request(t, lock)
	// BuildKit's own name in a container for 127.0.0.1.
	request.PackageIndex = &buildkit.PackageIndex{Username: index.Username, Password: index.Password,
		URL: &url.URL{Scheme: "http", Host: "buildkitsandbox:" + plain.URL[strings.LastIndex(plain.URL, ":")+1:], Path: index.URL.Path}}
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if published.Packages["private-tool"] != version {
		t.Errorf("packages are %v", published.Packages)
	}
}

func TestBuildSecretsAreMountedWhereTheyAreNeeded(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	// As file() reads them, with line breaks.
	request.BuildSecrets = map[string]secret.Value{"licence": secret.New("cnry-licence-key\n"), "key.pem": secret.New(strings.Repeat("cnry-line-of-a-key-that-is-as-long-as-such-lines-are-in-pem\n", 3))}
	request.Attestations.Provenance = "max"
	request.Spec.PostInstall = []environment.Command{{Command: fmt.Sprintf("true %d\n", time.Now().UnixNano()) + `test "$(stat -c '%u %a' /run/secrets/licence)" = "1000 400" && sha256sum < /run/secrets/licence > sum && cd /run/secrets && cat licence key.pem && base64 key.pem`}}
	logged := &strings.Builder{}
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(logged, nil)))
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(request.BuildSecrets["key.pem"].Reveal()))
	for _, spelling := range []string{"cnry-licence-key", "cnry-line-of-a-key", encoded[:76], encoded[152:]} {
		if strings.Contains(logged.String(), spelling) || !strings.Contains(logged.String(), "[redacted]") {
			t.Errorf("%q is not masked in the log:\n%s", spelling, logged)
		}
	}
	if statement := b.statement(t, request, published.Attestations[0]); strings.Contains(statement, "cnry-licence-key") {
		t.Error("the secret is in the provenance")
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: published.Reference(request.Repository), Platform: environment.DefaultPlatform,
		Args: []string{"/bin/sh", "-c", "cat sum; ls -A /run/secrets 2>/dev/null"}, Env: []string{"PATH=/usr/bin:/bin"}, Cwd: environment.WorkDir, User: "1000:100"}, request.Credentials)
	sum := sha256.Sum256([]byte("cnry-licence-key\n"))
	if err != nil || strings.TrimSpace(output.Stdout) != hex.EncodeToString(sum[:])+"  -" {
		t.Errorf("the container says %+v, %v", output, err)
	}
	request.BuildSecrets["licence"] = secret.New("cnry-another-key")
	again, err := b.publish(t.Context(), request)
	if err != nil || again.Image.Manifests[environment.DefaultPlatform] != published.Image.Manifests[environment.DefaultPlatform] {
		t.Errorf("another value of a secret built another image: %v", err)
	}
}

// TestIndexOfTheBaseThatDoesNotAnswer has no package_index, as most have: the lock must not get the blame.
func TestIndexOfTheBaseThatDoesNotAnswer(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		change func(*buildkit.Network)
		title  string
		says   []string
	}{
		"proxy": {func(n *buildkit.Network) {
			n.HTTPProxy, n.HTTPSProxy, n.NoProxy = "http://127.0.0.1:9", "http://127.0.0.1:9", ""
		}, "Index of the base's pip cannot be reached", []string{"HTTPS_PROXY", "DATALAYER_CA_BUNDLE", "package_index", "six"}},
		"certificates": {func(n *buildkit.Network) { n.CABundle = enginetest.NewCA(t).PEM }, "Certificate of the index of the base's pip is not trusted", []string{"DATALAYER_CA_BUNDLE", "package_index", "six", "the lock is not at fault"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := b.request(t, "six==1.17.0 --hash=sha256:"+zeros+"\n")
			c.change(&request.Network)
			_, err := b.publish(t.Context(), request)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title || len(found.Path) > 0 {
				t.Fatalf("error is %v", err)
			}
			for _, words := range c.says {
				if !strings.Contains(found.Detail(), words) {
					t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
				}
			}
		})
	}
}
