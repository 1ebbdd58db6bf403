package buildkit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/buildkit"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

const (
	ecrAccount = "111122223333"
	ecrRegion  = "eu-west-1"
)

// ecrBench builds on a daemon that reaches AWS through a proxy alone. AWS and the provider have one clock.
type ecrBench struct {
	*awstest.Cloud
	publisher *buildkit.Publisher
	request   buildkit.Request
	log       *bytes.Buffer
	printed   string

	mu   sync.Mutex
	now  time.Time
	once sync.Once
}

func newECRBench(t *testing.T) *ecrBench {
	t.Helper()
	enginetest.Engine(t)
	b := &ecrBench{Cloud: awstest.Start(t), log: &bytes.Buffer{}, now: time.Now(), printed: fmt.Sprintf("ran-%d", time.Now().UnixNano())}
	b.Now = b.clock
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	key, secret := b.User(ecrAccount, "ci")
	for name, value := range b.Environment(t, key, secret) {
		if strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
		}
	}
	for _, name := range []string{"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	_, digest, _ := strings.Cut(b.Registry(t, ecrAccount, ecrRegion).PushBase(t), "@")
	base, err := reference.ParsePinned(b.Repository(t, ecrAccount, ecrRegion, "base") + "@" + digest)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := reference.ParseRepository(b.Repository(t, ecrAccount, ecrRegion, target))
	if err != nil {
		t.Fatal(err)
	}
	role := b.Role(ecrAccount, "builder", awstest.Role{Repositories: []string{awstest.ARN(ecrAccount, ecrRegion, "*")}})
	source := credential.NewAWS(credential.AWSOptions{Default: &credential.Identity{RoleARN: role}, HTTPClient: b.Client(t), Now: b.clock})
	resolver := credential.NewResolver(nil).WithAWS(source).Using(repository.Host,
		credential.Grant{Repository: "base", Actions: []credential.Action{credential.Pull}}, credential.Grant{Repository: target, Actions: []credential.Action{credential.Pull, credential.Push}})
	logger := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	daemon, err := buildkit.Connect(t.Context(), b.PlainRemote(t), 1, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Close() })
	b.publisher = &buildkit.Publisher{
		Registry: image.New(image.Options{Credentials: resolver, Transport: b.Client(t).Transport, Now: b.clock}), Logger: logger, Now: time.Now,
		Connect: func(context.Context) (*buildkit.Daemon, error) { return daemon, nil },
	}
	b.request = buildkit.Request{
		Base: base, Platforms: []string{environment.DefaultPlatform}, Repository: repository, Credentials: resolver,
		Labels: map[string]string{environment.LabelCacheKey: "sha256:test"},
		Spec:   environment.Spec{PostInstall: []environment.Command{{Command: "echo " + strings.Replace(b.printed, "-", "''-", 1)}}},
	}
	return b
}

func (b *ecrBench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// endAt lets a day pass at the first such request of the daemon: all tokens and sessions that were given out have ended.
func (b *ecrBench) endAt(method, path string) {
	b.OnRegistry = func(r *http.Request) {
		if r.Method == method && strings.Contains(r.URL.Path, path) && strings.HasPrefix(r.UserAgent(), "buildkit/") {
			b.once.Do(func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.now = b.now.Add(24 * time.Hour)
			})
		}
	}
}

func (b *ecrBench) publish(t *testing.T) (*buildkit.Published, error) {
	t.Helper()
	return b.publisher.Publish(t.Context(), b.request, "v1-0badcafe", func(buildkit.Published) {})
}

// C09: the login token ends while the build runs, or between the last layer and the manifest. A daemon asks for another
// one at a 401, and keeps what it has at a 403.
func TestATokenThatEndsDuringABuildIsRenewed(t *testing.T) {
	plain := func(status int, header http.Header) *enginetest.FaultResponse {
		header.Set("Content-Type", "text/plain")
		return &enginetest.FaultResponse{Status: status, Header: header, Body: "token no longer valid"}
	}
	for name, tt := range map[string]struct {
		method, path string
		answer       *enginetest.FaultResponse
	}{
		"403 at the first layer":      {http.MethodPost, "/v2/" + target + "/blobs/uploads/", nil},
		"401 at the first layer":      {http.MethodPost, "/v2/" + target + "/blobs/uploads/", plain(http.StatusUnauthorized, http.Header{"Www-Authenticate": {`Basic realm="https://ecr/",service="ecr.amazonaws.com"`}})},
		"403 in text at the manifest": {http.MethodPut, "/v2/" + target + "/manifests/", plain(http.StatusForbidden, http.Header{})},
		"403 while the base is read":  {http.MethodGet, "/v2/base/blobs/", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newECRBench(t)
			b.ExpiredAnswer = tt.answer
			b.endAt(tt.method, tt.path)
			published, err := b.publish(t)
			if err != nil {
				t.Fatalf("%v\n%s", err, b.log)
			}
			left := b.Registry(t, ecrAccount, ecrRegion).Left(t)
			if !slices.Contains(left, target+":v1-0badcafe") || !slices.Contains(left, target+"@"+published.Digest) {
				t.Errorf("the registry holds %q", left)
			}
			if tokens := len(b.Calls("GetAuthorizationToken")); tokens < 2 {
				t.Errorf("%d login tokens were got", tokens)
			}
			if ran := strings.Count(b.log.String(), "msg="+b.printed+"\n") + strings.Count(b.log.String(), "msg="+b.printed+" "); ran != 1 {
				t.Errorf("the command ran %d times", ran)
			}
		})
	}
}

func TestATokenThatCannotBeRenewedIsToldFromTheBuild(t *testing.T) {
	b := newECRBench(t)
	b.endAt(http.MethodPut, "/v2/"+target+"/manifests/")
	asked := 0
	b.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "GetAuthorizationToken" {
			return nil
		}
		if asked++; asked == 1 {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"text/plain"}}, Body: "token no longer valid"}
	}
	_, err := b.publish(t)
	var found *problem.Problem
	if !errors.As(err, &found) {
		t.Fatalf("got %v", err)
	}
	for _, words := range []string{b.request.Repository.Host, b.request.Repository.String(), "403 Forbidden", "has expired", "build finished", "token no longer valid", "role/builder"} {
		if !strings.Contains(found.Title+found.Detail(), words) {
			t.Errorf("%q is not in the detail:\n%s", words, found.Detail())
		}
	}
	for _, secret := range append(b.Secrets(), "invalid character") {
		if strings.Contains(found.Detail()+b.log.String(), secret) {
			t.Errorf("%q shows", secret)
		}
	}
	for _, one := range b.Registry(t, ecrAccount, ecrRegion).Left(t) {
		if strings.HasPrefix(one, target) {
			t.Errorf("left in the registry: %s", one)
		}
	}
	// With a login again, the daemon's cache has the build.
	b.Choose, b.OnRegistry = nil, nil
	b.log.Reset()
	if _, err := b.publish(t); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.log.String(), b.printed) {
		t.Errorf("the retry built again:\n%s", b.log)
	}
}
