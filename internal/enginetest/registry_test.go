package enginetest_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// push puts an artifact with no files under the tag v1 of repository "team/app" and gives its digest.
func push(ctx context.Context, repository *remote.Repository) (string, error) {
	store := memory.New()
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "application/vnd.test", oras.PackManifestOptions{})
	if err != nil {
		return "", err
	}
	if err := store.Tag(ctx, manifest, "v1"); err != nil {
		return "", err
	}
	_, err = oras.Copy(ctx, store, "v1", repository, "v1", oras.DefaultCopyOptions)
	return manifest.Digest.String(), err
}

func repository(t *testing.T, registry *enginetest.Registry, user, password string) *remote.Repository {
	t.Helper()
	repository, err := remote.NewRepository(registry.Host + "/team/app")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	repository.Client = &auth.Client{
		Client: http.DefaultClient,
		Credential: func(context.Context, string) (auth.Credential, error) {
			return auth.Credential{Username: user, Password: password}, nil
		},
	}
	return repository
}

func TestRegistryTellsWhatIsLeft(t *testing.T) {
	registry := enginetest.StartRegistry(t)
	if left := registry.Left(t); len(left) != 0 {
		t.Fatalf("a new registry holds %q", left)
	}
	repository := repository(t, registry, "", "")
	digest, err := push(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := registry.Left(t), []string{"team/app:v1", "team/app@" + digest}; !slices.Equal(got, want) {
		t.Errorf("after a push: %q, want %q", got, want)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+registry.Host+"/v2/team/app/blobs/uploads/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	id := response.Header.Get("Docker-Upload-UUID")
	if got := registry.Left(t); !slices.Contains(got, "team/app upload "+id) {
		t.Errorf("an open upload %q is not among %q", id, got)
	}
	request, err = http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+registry.Host+response.Header.Get("Location"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err = http.DefaultClient.Do(request); err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("cancel of an upload: %s", response.Status)
	}

	descriptor, err := repository.Resolve(t.Context(), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := repository.Delete(t.Context(), descriptor); err != nil {
		t.Fatal(err)
	}
	if left := registry.Left(t); len(left) != 0 {
		t.Errorf("after a delete by digest: %q, want nothing", left)
	}
}

func TestRegistryLogsRequests(t *testing.T) {
	registry := enginetest.StartRegistry(t)
	if _, err := push(t.Context(), repository(t, registry, "", "")); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, request := range registry.Requests() {
		lines = append(lines, request.String())
	}
	if !slices.Contains(lines, "PUT /v2/team/app/manifests/v1 201") {
		t.Errorf("no push of the tag among %q", lines)
	}
	registry.ResetRequests()
	if requests := registry.Requests(); len(requests) != 0 {
		t.Errorf("after a reset: %v", requests)
	}
}

func TestRegistryChecksLogins(t *testing.T) {
	readOnly := func(_, method, _ string) bool { return method == http.MethodGet || method == http.MethodHead }
	tests := map[string]struct {
		middleware     func(http.Handler) http.Handler
		user, password string
		status         int
	}{
		"basic, right":           {enginetest.BasicAuth(map[string]string{"ann": "pw"}, nil), "ann", "pw", 0},
		"basic, wrong password":  {enginetest.BasicAuth(map[string]string{"ann": "pw"}, nil), "ann", "no", http.StatusUnauthorized},
		"basic, unknown user":    {enginetest.BasicAuth(map[string]string{"ann": "pw"}, nil), "bob", "pw", http.StatusUnauthorized},
		"basic, not allowed":     {enginetest.BasicAuth(map[string]string{"ann": "pw"}, readOnly), "ann", "pw", http.StatusForbidden},
		"bearer, right":          {enginetest.TokenAuth("ann", "pw"), "ann", "pw", 0},
		"bearer, wrong password": {enginetest.TokenAuth("ann", "pw"), "ann", "no", http.StatusUnauthorized},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registry := enginetest.StartRegistry(t, test.middleware)
			_, err := push(t.Context(), repository(t, registry, test.user, test.password))
			status := 0
			var response *errcode.ErrorResponse
			if errors.As(err, &response) {
				status = response.StatusCode
			} else if err != nil {
				t.Fatal(err)
			}
			if status != test.status {
				t.Errorf("status %d (%v), want %d", status, err, test.status)
			}
			if left := registry.Left(t); (len(left) == 0) != (test.status != 0) {
				t.Errorf("status %d left %q", test.status, left)
			}
		})
	}
}

func TestRegistryFaults(t *testing.T) {
	registry := enginetest.StartRegistry(t, enginetest.Fault(func(r *http.Request) *enginetest.FaultResponse {
		switch {
		case strings.HasSuffix(r.URL.Path, "/manifests/busy"):
			return &enginetest.FaultResponse{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: "slow down"}
		case strings.HasSuffix(r.URL.Path, "/manifests/cut"):
			return &enginetest.FaultResponse{Cut: true}
		}
		return nil
	}))
	get := func(tag string) (status int, header http.Header, err error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+registry.Host+"/v2/team/app/manifests/"+tag, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", ocispec.MediaTypeImageManifest)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, nil, err
		}
		return response.StatusCode, response.Header, response.Body.Close()
	}
	if status, header, err := get("busy"); err != nil || status != http.StatusTooManyRequests || header.Get("Retry-After") != "7" {
		t.Errorf("busy: %d, %v, %v", status, header, err)
	}
	if status, _, err := get("absent"); err != nil || status != http.StatusNotFound {
		t.Errorf("absent: %d, %v", status, err)
	}
	if status, _, err := get("cut"); err == nil {
		t.Errorf("cut: answered %d", status)
	}
	requests := registry.Requests()
	if last := requests[len(requests)-1]; last.Status != 0 {
		t.Errorf("a cut connection is logged as %s", last)
	}
}
