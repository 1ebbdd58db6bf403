package ecr_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/ecr"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
)

const (
	account = "111122223333"
	region  = "eu-west-1"
	name    = "team/env"
)

// rig is a repository on an AWS, and a role that may do all there.
type rig struct {
	*awstest.Cloud
	t        *testing.T
	repo     reference.Repository
	resolver *credential.Resolver
}

func newRig(t *testing.T) *rig {
	t.Helper()
	c := awstest.Start(t)
	key, secret := c.User(account, "ci")
	for variable, value := range c.Environment(t, key, secret) {
		if strings.HasPrefix(variable, "AWS_") {
			t.Setenv(variable, value)
		}
	}
	for _, variable := range []string{"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE"} {
		t.Setenv(variable, "")
	}
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	repo, err := reference.ParseRepository(c.Repository(t, account, region, name))
	if err != nil {
		t.Fatal(err)
	}
	role := c.Role(account, "builder", awstest.Role{Repositories: []string{awstest.ARN(account, region, "*")}})
	source := credential.NewAWS(credential.AWSOptions{Default: &credential.Identity{RoleARN: role}, HTTPClient: c.Client(t)})
	return &rig{Cloud: c, t: t, repo: repo, resolver: credential.NewResolver(nil).WithAWS(source)}
}

// client is held to these actions in the repository.
func (r *rig) client(actions ...credential.Action) *image.Client {
	r.t.Helper()
	resolver := r.resolver.Using(r.repo.Host, credential.Grant{Repository: name, Actions: actions})
	return image.New(image.Options{
		Credentials: resolver, API: ecr.APIs(resolver), Transport: r.Client(r.t).Transport,
		Retry: retry.Policy{Sleep: func(context.Context, time.Duration) error { return nil }},
	})
}

func (r *rig) push(text string, tags ...string) string {
	r.t.Helper()
	return r.PushImage(r.t, account, region, name, text, nil, tags...)
}

// left is what the registry holds, without the repository's name.
func (r *rig) left() []string {
	r.t.Helper()
	var left []string
	for _, one := range r.Registry(r.t, account, region).Left(r.t) {
		left = append(left, strings.TrimLeft(strings.TrimPrefix(one, name), ":@"))
	}
	slices.Sort(left)
	return left
}

func (r *rig) holds(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if left := r.left(); !slices.Equal(left, want) {
		r.t.Errorf("the registry holds %q, want %q", left, want)
	}
}

// operations are the calls of ECR's API since the last time.
func (r *rig) operations() []string {
	var operations []string
	for _, call := range r.Calls() {
		if call.Service == "ecr" {
			operations = append(operations, call.Operation)
		}
	}
	r.Forget()
	return operations
}

func TestARefreshIsOneRequestWithADescribingSession(t *testing.T) {
	r := newRig(t)
	digest, moved := r.push("a", "v1"), r.push("b", "v2")
	client := r.client(credential.Describe)
	for tag, want := range map[string]image.Presence{
		"v1": {State: image.Present},
		"v2": {State: image.PresentMoved, TagDigest: moved},
		"v3": {State: image.PresentMoved},
	} {
		r.Forget()
		got, err := client.Presence(t.Context(), r.repo, digest, tag)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", tag, got, err)
		}
		calls := r.operations()
		if tag == "v1" && !slices.Equal(calls, []string{"DescribeImages"}) || slices.Contains(calls, "GetAuthorizationToken") {
			t.Errorf("%s: asked %q", tag, calls)
		}
	}
	gone, err := client.Presence(t.Context(), r.repo, "sha256:"+strings.Repeat("0", 64), "v3")
	if err != nil || gone.State != image.Gone {
		t.Errorf("got %+v, %v", gone, err)
	}
	for _, policy := range r.Policies() {
		if strings.Contains(policy, "BatchGetImage") || strings.Contains(policy, "Delete") {
			t.Errorf("a refresh asked for %s", policy)
		}
	}
}

func TestARepositoryThatIsGoneIsGoneAndARefusalIsNot(t *testing.T) {
	r := newRig(t)
	digest := r.push("a", "v1")
	elsewhere, err := reference.ParseRepository(r.repo.Host + "/team/missing")
	if err != nil {
		t.Fatal(err)
	}
	resolver := r.resolver.Using(r.repo.Host, credential.Grant{Repository: "team/missing", Actions: []credential.Action{credential.Describe}})
	client := image.New(image.Options{Credentials: resolver, API: ecr.APIs(resolver)})
	if got, err := client.Presence(t.Context(), elsewhere, digest, "v1"); err != nil || got.State != image.Gone {
		t.Errorf("got %+v, %v", got, err)
	}
	// The session knows nothing of this one.
	_, err = client.Presence(t.Context(), r.repo, digest, "v1")
	var p *problem.Problem
	if !image.Denied(err) || image.NotFound(err) || !errors.As(err, &p) || !strings.Contains(p.Detail(), "not authorized to perform: ecr:DescribeImages") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheListOfFailuresTellsWhatWasDeleted(t *testing.T) {
	r := newRig(t)
	one, two := r.push("a"), r.push("b")
	index := r.PushIndex(t, account, region, name, []string{one, two}, "v1")
	client := r.client(credential.Delete, credential.Describe)
	// ECR answers 200 to the deletion of what an index lists, and does nothing.
	err := client.Delete(t.Context(), r.repo, one)
	if err == nil || !strings.Contains(err.Error(), "ImageReferencedByManifestList") || !strings.Contains(err.Error(), index) {
		t.Errorf("got %v", err)
	}
	r.holds("v1", index, one, two)
	r.Forget()
	removed, err := client.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: index, Tags: []string{"v1"}})
	if err != nil || !removed.DigestDeleted || len(removed.Kept) > 0 {
		t.Errorf("got %+v, %v", removed, err)
	}
	r.holds()
	if deletions := r.Calls("BatchDeleteImage"); len(deletions) != 3 || !strings.Contains(deletions[0].Body, index) {
		t.Errorf("deleted by %+v", deletions)
	}
	// Gone is success.
	removed, err = client.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: index, Tags: []string{"v1"}})
	if err != nil || !removed.DigestDeleted {
		t.Errorf("got %+v, %v", removed, err)
	}
	if err := client.Delete(t.Context(), r.repo, one); err != nil {
		t.Error(err)
	}
	for _, policy := range r.Policies() {
		for _, action := range []string{"PutImage", "GetDownloadUrlForLayer", "Upload"} {
			if strings.Contains(policy, action) {
				t.Errorf("a destroy asked for %s", policy)
			}
		}
	}
}

func TestAnotherTagKeepsTheDigest(t *testing.T) {
	r := newRig(t)
	digest := r.push("a", "v1-ours", "prod", "x1", "x2")
	for _, text := range []string{"b", "c", "d", "e"} {
		r.push(text, "of-"+text) // More than a page of DescribeImages.
	}
	client := r.client(credential.Delete, credential.Describe)
	removed, err := client.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: digest, Tags: []string{"v1-ours"}})
	if err != nil || removed.DigestDeleted || !slices.Equal(removed.Others, []string{"prod", "x1", "x2"}) || !slices.Equal(removed.Untagged, []string{"v1-ours"}) {
		t.Errorf("got %+v, %v", removed, err)
	}
	if left := r.left(); !slices.Contains(left, digest) || !slices.Contains(left, "prod") || slices.Contains(left, "v1-ours") {
		t.Errorf("left: %q", left)
	}
}

func TestALastTagIsNotTakenFromAnImageThatMustStay(t *testing.T) {
	r := newRig(t)
	child := r.push("a", "v1-ours")
	index := r.PushIndex(t, account, region, name, []string{child}, "all")
	client := r.client(credential.Delete, credential.Describe)
	if err := client.Untag(t.Context(), r.repo, "v1-ours"); !errors.Is(err, image.ErrCannotUntag) {
		t.Errorf("got %v", err)
	}
	removed, err := client.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: child, Tags: []string{"v1-ours"}})
	if err != nil || removed.DigestDeleted || len(removed.Kept) != 1 || removed.Kept[0].What != "tag" || !slices.Equal(removed.Others, []string{"all"}) {
		t.Errorf("got %+v, %v", removed, err)
	}
	r.holds("all", "v1-ours", child, index)
	if err := client.Untag(t.Context(), r.repo, "missing"); err != nil {
		t.Error(err)
	}
}

func TestAnImportedImageMustProveThatItIsOurs(t *testing.T) {
	r := newRig(t)
	ours := r.PushImage(t, account, region, name, "a", map[string]string{"our.label": "x"}, "v1")
	foreign := r.push("b", "v2")
	client := r.client(credential.Pull, credential.Delete, credential.Describe)
	for digest, deleted := range map[string]bool{ours: true, foreign: false} {
		removed, err := client.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: digest, Tags: []string{"v1", "v2"}, RequireLabel: "our.label"})
		if err != nil || removed.DigestDeleted != deleted || deleted == (removed.Forgotten != "") {
			t.Errorf("got %+v, %v", removed, err)
		}
	}
	r.holds("v2", foreign)
}

// C18: a registry with immutable tags refuses a tag that exists, on the same digest too.
func TestImmutableTags(t *testing.T) {
	r := newRig(t)
	ours, theirs := r.push("a", "v1"), r.push("b", "v2")
	r.Immutable(account, region, name)
	client := r.client(credential.Pull, credential.Push, credential.Delete, credential.Describe)
	if err := client.Tag(t.Context(), r.repo, ours, "v1"); err != nil {
		t.Errorf("the tag that points to the digest: %v", err)
	}
	err := client.Tag(t.Context(), r.repo, ours, "v2")
	var p *problem.Problem
	if !errors.As(err, &p) || !strings.Contains(p.Detail(), theirs) || !strings.Contains(p.Detail(), ours) || !strings.Contains(p.Detail(), r.repo.String()+":v2") || !strings.Contains(p.Detail(), "immutable") {
		t.Errorf("got %v", err)
	}
	kept, err := client.Retag(t.Context(), r.repo, ours, "v1", "v3")
	if err != nil || kept != "" {
		t.Errorf("got %q, %v", kept, err)
	}
	r.holds("v2", "v3", ours, theirs)
}

func TestMountingWithAndWithoutTheAccountSetting(t *testing.T) {
	for setting, grants := range map[string]struct {
		mounting bool
		base     []credential.Action
		mounted  bool
	}{
		"on": {true, []credential.Action{credential.Pull}, true}, "off": {false, []credential.Action{credential.Pull}, false}, "on, base not granted": {true, nil, false},
	} {
		t.Run(setting, func(t *testing.T) {
			r := newRig(t)
			r.Mounting = grants.mounting
			base, err := reference.ParseRepository(r.Repository(t, account, region, "base"))
			if err != nil {
				t.Fatal(err)
			}
			digest := r.PushImage(t, account, region, "base", "layer", nil)
			reading := r.resolver.Using(r.repo.Host, credential.Grant{Repository: "base", Actions: []credential.Action{credential.Pull}})
			found, err := image.New(image.Options{Credentials: reading, Transport: r.Client(t).Transport}).Inspect(t.Context(), base.WithDigest(digest))
			if err != nil {
				t.Fatal(err)
			}
			resolver := r.resolver.Using(r.repo.Host, credential.Grant{Repository: name, Actions: []credential.Action{credential.Push, credential.Pull}}, credential.Grant{Repository: "base", Actions: grants.base})
			client := image.New(image.Options{Credentials: resolver, Transport: r.Client(t).Transport})
			if err := client.MountOrProbe(t.Context(), r.repo, base, found.Layers["linux/amd64"]); err != nil {
				t.Fatal(err)
			}
			created := slices.ContainsFunc(r.Registry(t, account, region).Requests(), func(q enginetest.Request) bool {
				return strings.Contains(q.Query, "mount=") && q.Status == http.StatusCreated
			})
			if created != grants.mounted {
				t.Errorf("mounted: %t", created)
			}
			r.holds("base@" + digest)
		})
	}
}

// A token for one repository is of no use in another, of the same account too.
func TestATokenOpensItsRepositoryAlone(t *testing.T) {
	r := newRig(t)
	secret, err := reference.ParseRepository(r.Repository(t, account, region, "team/secret"))
	if err != nil {
		t.Fatal(err)
	}
	digest := r.PushImage(t, account, region, "team/secret", "x", nil, "v1")
	client := image.New(image.Options{Credentials: r.resolver.Using(r.repo.Host, credential.Grant{Repository: name, Actions: []credential.Action{credential.Pull, credential.Push}}), Transport: r.Client(t).Transport})
	if err := client.ProbePush(t.Context(), r.repo); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"read": func() error { _, err := client.Inspect(t.Context(), secret.WithDigest(digest)); return err }(),
		"push": client.ProbePush(t.Context(), secret),
	} {
		if !image.Denied(err) || !strings.Contains(err.Error(), "no session policy allows") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	missing, err := reference.ParseRepository(r.repo.Host + "/" + name + "-missing")
	if err != nil {
		t.Fatal(err)
	}
	pushing := image.New(image.Options{Credentials: r.resolver.Using(r.repo.Host, credential.Grant{Repository: name + "-missing", Actions: []credential.Action{credential.Push}}), Transport: r.Client(t).Transport})
	var p *problem.Problem
	if err := pushing.ProbePush(t.Context(), missing); !errors.As(err, &p) || p.Title != "Repository does not exist" || !strings.Contains(p.Detail(), "with id '111122223333'") {
		t.Errorf("got %v", err)
	}
}

// Where nobody asked for AWS, the refusal says that one can.
func TestARefusalSaysThatAWSCanBeAsked(t *testing.T) {
	r := newRig(t)
	client := image.New(image.Options{Credentials: credential.NewResolver(nil), Transport: r.Client(t).Transport})
	_, err := client.Inspect(t.Context(), r.repo.WithDigest("sha256:"+strings.Repeat("0", 64)))
	var p *problem.Problem
	if !image.Denied(err) || !errors.As(err, &p) || !strings.Contains(p.Detail(), "set aws = {} in the provider") {
		t.Errorf("got %v", err)
	}
}

// What says yes to a deletion and names nothing has deleted nothing that is known.
func TestAYesThatNamesNoImageIsNoDeletion(t *testing.T) {
	r := newRig(t)
	digest := r.push("a", "v1")
	client := r.client(credential.Delete, credential.Describe)
	for _, body := range []string{"", "{}", "<html>sign in</html>"} {
		r.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
			if call.Operation != "BatchDeleteImage" {
				return nil
			}
			return &enginetest.FaultResponse{Status: http.StatusOK, Body: body}
		}
		if err := client.Delete(t.Context(), r.repo, digest); err == nil || image.NotFound(err) || !strings.Contains(err.Error(), "the answer") {
			t.Errorf("%q: got %v", body, err)
		}
	}
	r.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "DescribeImages" {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusOK, Body: "<html>sign in</html>"}
	}
	if _, err := client.Presence(t.Context(), r.repo, digest, "v1"); err == nil || !strings.Contains(err.Error(), "the answer of api.ecr.eu-west-1.amazonaws.com is not understood") {
		t.Errorf("got %v", err)
	}
	r.holds("v1", digest)
}

// A token opens the registries of its region, whichever account they are of, and none of another.
func TestATokenIsOfOneRegion(t *testing.T) {
	r := newRig(t)
	digest := r.push("a", "v1")
	there, err := reference.ParseRepository(r.Repository(t, account, "us-east-1", name))
	if err != nil {
		t.Fatal(err)
	}
	away := r.PushImage(t, account, "us-east-1", name, "a", nil)
	// The user may do all in every region.
	source := credential.NewAWS(credential.AWSOptions{Default: &credential.Identity{}, HTTPClient: r.Client(t)})
	lease, err := credential.NewResolver(nil).WithAWS(source).Acquire(t.Context(), r.repo.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := image.New(image.Options{Transport: r.Client(t).Transport, Credentials: credential.NewResolver(credential.Static{r.repo.Host: lease.Login, there.Host: lease.Login})})
	if _, err := client.Inspect(t.Context(), r.repo.WithDigest(digest)); err != nil {
		t.Error(err)
	}
	if _, err := client.Inspect(t.Context(), there.WithDigest(away)); !image.Denied(err) {
		t.Errorf("a token of %s in us-east-1: %v", region, err)
	}
}

func TestARefusalInPlainTextIsQuoted(t *testing.T) {
	r := newRig(t)
	r.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "BatchDeleteImage" && call.Service != "registry" {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "blocked by\nthe endpoint policy", Header: http.Header{"Content-Type": {"text/plain"}}}
	}
	client := r.client(credential.Delete, credential.Describe, credential.Push)
	err := client.Delete(t.Context(), r.repo, "sha256:"+strings.Repeat("0", 64))
	probe := client.ProbePush(t.Context(), r.repo)
	for _, err := range []error{err, probe} {
		if !image.Denied(err) || !strings.Contains(err.Error(), "403 Forbidden") || !strings.Contains(err.Error(), "blocked by the endpoint policy") || strings.Contains(err.Error(), "invalid character") {
			t.Errorf("got %v", err)
		}
	}
}

// What a run left that was killed between push and tag is listed, and what an index lists is not: it has no tag either.
func TestMarkedListsWhatNoTagPointsTo(t *testing.T) {
	r := newRig(t)
	labels := map[string]string{"l": "1"}
	push := func(text string, labels map[string]string, tags ...string) string {
		return r.PushImage(t, account, region, name, text, labels, tags...)
	}
	index := func(tags []string, texts ...string) string {
		var children []string
		for _, text := range texts {
			children = append(children, push(text, labels))
		}
		return r.PushIndex(t, account, region, name, children, tags...)
	}
	want := map[string][]string{
		push("tagged", labels, "v1"): {"v1"}, index([]string{"v2"}, "of the tagged index", "another of it"): {"v2"},
		push("left", labels): nil, index(nil, "of the index left", "another of that"): nil,
	}
	push("theirs", nil)
	push("theirs too", nil, "latest")
	client := r.client(credential.Pull, credential.Describe)
	marked, err := client.Marked(t.Context(), r.repo, "l")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, m := range marked {
		got[m.Reference.Digest] = m.Tags
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	// One is removed by its digest.
	for digest, tags := range want {
		if tags != nil {
			continue
		}
		removing := r.client(credential.Pull, credential.Describe, credential.Delete)
		if done, err := removing.Remove(t.Context(), image.Removal{Repository: r.repo, Digest: digest, RequireLabel: "l"}); err != nil || !done.DigestDeleted || len(done.Kept) > 0 {
			t.Errorf("%s: %+v, %v", digest, done, err)
		}
	}
	if marked, err := client.Marked(t.Context(), r.repo, "l"); err != nil || len(marked) != 2 {
		t.Errorf("left %v, %v", marked, err)
	}
}
