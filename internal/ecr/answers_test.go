package ecr_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/ecr"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// api is that of the repository, for a role that may do all there.
func (r *rig) api(repo reference.Repository) image.API {
	r.t.Helper()
	resolver := r.resolver.Using(repo.Host, credential.Grant{Repository: repo.Path, Actions: []credential.Action{credential.Pull, credential.Delete, credential.Describe}})
	api, err := ecr.APIs(resolver)(r.t.Context(), repo)
	if err != nil {
		r.t.Fatal(err)
	}
	return api
}

// ECR answers 400 to almost everything: what it means is in its code.
func TestEachCodeIsTheStatusOfARegistry(t *testing.T) {
	r := newRig(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	api := r.api(r.repo)
	for code, want := range map[string]struct {
		status                      int
		gone, denied, comesBackWell bool
	}{
		"RepositoryNotFoundException": {http.StatusNotFound, true, false, false}, "ImageNotFoundException": {http.StatusNotFound, true, false, false},
		"AccessDeniedException": {http.StatusForbidden, false, true, false}, "UnrecognizedClientException": {http.StatusUnauthorized, false, true, false},
		"InvalidSignatureException": {http.StatusUnauthorized, false, true, false}, "ExpiredTokenException": {http.StatusUnauthorized, false, true, false},
		"ThrottlingException": {http.StatusTooManyRequests, false, false, true}, "LimitExceededException": {http.StatusTooManyRequests, false, false, true},
		"InvalidParameterException": {http.StatusBadRequest, false, false, false},
	} {
		r.Choose = func(awstest.Call, *http.Request) *enginetest.FaultResponse {
			return &enginetest.FaultResponse{Status: http.StatusBadRequest, Body: `{"__type":"` + code + `","message":"no"}`, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}}
		}
		_, head := api.Head(t.Context(), "v1")
		_, _, manifest := api.Manifest(t.Context(), "v1")
		_, _, tags := api.Tags(t.Context())
		for operation, err := range map[string]error{"DescribeImages": head, "BatchGetImage": manifest, "a list": tags} {
			var e *image.Error
			if !errors.As(err, &e) || e.Status != want.status || e.Code != code || image.NotFound(err) != want.gone || image.Denied(err) != want.denied || image.Transient(err) != want.comesBackWell {
				t.Errorf("%s, %s: got %v", operation, code, err)
			}
		}
	}
}

// A repository may be of another account than whoever asks, who may have one of the same name.
func TestEveryRequestNamesTheAccountOfTheHost(t *testing.T) {
	const other = "444455556666"
	r := newRig(t)
	r.push("a", "mine")
	there, err := reference.ParseRepository(r.Repository(t, other, region, name))
	if err != nil {
		t.Fatal(err)
	}
	digest := r.PushImage(t, other, region, name, "b", nil, "theirs", "gone")
	role := r.Role(account, "across", awstest.Role{Repositories: []string{awstest.ARN(other, region, "*")}})
	r.resolver = credential.NewResolver(nil).WithAWS(credential.NewAWS(credential.AWSOptions{Default: &credential.Identity{RoleARN: role}, HTTPClient: r.Client(t)}))
	api := r.api(there)
	if found, err := api.Head(t.Context(), "theirs"); err != nil || found.Digest != digest {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, raw, err := api.Manifest(t.Context(), "theirs"); err != nil || len(raw) == 0 {
		t.Errorf("got %s, %v", raw, err)
	}
	if points, complete, err := api.Tags(t.Context()); err != nil || !complete || len(points) != 2 || points["theirs"].Digest != digest {
		t.Errorf("got %v, %t, %v", points, complete, err)
	}
	if err := api.Untag(t.Context(), "gone"); err != nil {
		t.Error(err)
	}
	if left := r.Registry(t, other, region).Left(t); slices.Contains(left, name+":gone") || !slices.Contains(left, name+":theirs") {
		t.Errorf("left %v", left)
	}
	if err := api.Delete(t.Context(), digest); err != nil {
		t.Error(err)
	}
	if left := r.Registry(t, other, region).Left(t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// An index is asked for by name: ECR gives none to who does not.
func TestAnIndexIsReadAsOne(t *testing.T) {
	r := newRig(t)
	index := r.PushIndex(t, account, region, name, []string{r.push("a"), r.push("b")}, "v1")
	for _, object := range []string{"v1", index} {
		if found, raw, err := r.api(r.repo).Manifest(t.Context(), object); err != nil || found.MediaType != "application/vnd.oci.image.index.v1+json" || len(raw) == 0 {
			t.Errorf("%s: got %+v, %v", object, found, err)
		}
	}
}
