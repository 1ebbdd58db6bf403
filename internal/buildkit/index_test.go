package buildkit_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

const indexPassword = "cnry-index/pass+word"

// privateIndex serves one wheel of private-tool over TLS of a CA that nobody knows, to one login.
func privateIndex(t *testing.T) (index buildkit.PackageIndex, lock, version string) {
	t.Helper()
	// A version of its own for each run: the daemon would take the cached step of the last one, whatever the login.
	version = fmt.Sprintf("1.%d", time.Now().UnixNano())
	wheel := wheelOf(t, "private_tool", version)
	sum := sha256.Sum256(wheel)
	file := "private_tool-" + version + "-py3-none-any.whl"
	ca := enginetest.NewCA(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "reader" || password != indexPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="index"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/simple/private-tool/":
			_, _ = fmt.Fprintf(w, `<a href="/files/%s#sha256=%s">%s</a>`, file, hex.EncodeToString(sum[:]), file)
		case "/files/" + file:
			_, _ = w.Write(wheel)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	server.TLS = ca.Server(t).TLS(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL + "/simple/")
	if err != nil {
		t.Fatal(err)
	}
	// pip 25 cannot check the certificate of an address.
	address.Host = "localhost:" + address.Port()
	return buildkit.PackageIndex{
		URL: address, Username: "reader", Password: secret.New(indexPassword),
		CACertificates: ca.PEM,
	}, "private-tool==" + version + " --hash=sha256:" + hex.EncodeToString(sum[:]) + "\n", version
}

func wheelOf(t *testing.T, module, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	info := module + "-" + version + ".dist-info/"
	record := ""
	for _, file := range []struct{ name, text string }{
		{module + ".py", "answer = 42\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + strings.ReplaceAll(module, "_", "-") + "\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", ""},
	} {
		if file.text == "" {
			file.text = record + file.name + ",,\n"
		} else {
			sum := sha256.Sum256([]byte(file.text))
			record += fmt.Sprintf("%s,sha256=%s,%d\n", file.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(file.text))
		}
		w, err := archive.Create(file.name)
		if err == nil {
			_, err = w.Write([]byte(file.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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
		for _, spelling := range []string{indexPassword, url.QueryEscape(indexPassword), url.PathEscape(indexPassword), base64.StdEncoding.EncodeToString([]byte(indexPassword))} {
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
	for name, c := range map[string]struct {
		change func(*buildkit.PackageIndex)
		title  string
		says   string
	}{
		"login":       {func(i *buildkit.PackageIndex) { i.Password = secret.New("cnry-wrong-password") }, "Package index refused the login", "index answered 401"},
		"certificate": {func(i *buildkit.PackageIndex) { i.CACertificates = enginetest.NewCA(t).PEM }, "Package index cannot be reached", "CERTIFICATE_VERIFY_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			index, lock, _ := privateIndex(t)
			c.change(&index)
			request := b.request(t, lock)
			request.PackageIndex = &index
			_, err := b.publish(t.Context(), request)
			var found *problem.Problem
			if !errors.As(err, &found) || found.Title != c.title || !strings.Contains(found.Detail(), c.says) || !strings.Contains(found.Advice, "package_index") {
				t.Fatalf("error is %v\n%s", err, problem.From(err, "")[0].Detail())
			}
			if strings.Contains(found.Detail(), "cnry-wrong") {
				t.Errorf("the password shows:\n%s", found.Detail())
			}
		})
	}
}

func TestBuildSecretsAreMountedWhereTheyAreNeeded(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.BuildSecrets = map[string]secret.Value{"licence": secret.New("cnry-licence-key")}
	request.Attestations.Provenance = "max"
	request.Spec.PostInstall = []environment.Command{{Command: fmt.Sprintf("true %d\n", time.Now().UnixNano()) + `test "$(stat -c '%u %a' /run/secrets/licence)" = "1000 400" && sha256sum < /run/secrets/licence > sum && cat /run/secrets/licence`}}
	logged := &strings.Builder{}
	b.daemon.SetLogger(slog.New(slog.NewTextHandler(logged, nil)))
	published, err := b.publish(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(logged.String(), "cnry-licence-key") || !strings.Contains(logged.String(), "[redacted]") {
		t.Errorf("the log is not masked:\n%s", logged)
	}
	if statement := b.statement(t, request, published.Attestations[0]); strings.Contains(statement, "cnry-licence-key") {
		t.Error("the secret is in the provenance")
	}
	output, err := b.daemon.Run(t.Context(), buildkit.Process{Image: published.Reference(request.Repository), Platform: environment.DefaultPlatform,
		Args: []string{"/bin/sh", "-c", "cat sum; ls -A /run/secrets 2>/dev/null"}, Env: []string{"PATH=/usr/bin:/bin"}, Cwd: environment.WorkDir, User: "1000:100"}, request.Credentials)
	sum := sha256.Sum256([]byte("cnry-licence-key"))
	if err != nil || strings.TrimSpace(output.Stdout) != hex.EncodeToString(sum[:])+"  -" {
		t.Errorf("the container says %+v, %v", output, err)
	}
	request.BuildSecrets["licence"] = secret.New("cnry-another-key")
	again, err := b.publish(t.Context(), request)
	if err != nil || again.Image.Manifests[environment.DefaultPlatform] != published.Image.Manifests[environment.DefaultPlatform] {
		t.Errorf("another value of a secret built another image: %v", err)
	}
}
