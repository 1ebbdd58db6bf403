package ecr_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/ecr"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// service is an imitation of AWS with an empty repository in it, and what puts images there.
type service struct {
	resolver *credential.Resolver
	repo     reference.Repository
	push     func(text string, tags ...string) string
	// lives: its login tokens have an end to come. Those of moto have been over since 2015.
	lives bool
}

func (s service) client(path string) *image.Client {
	resolver := s.resolver.Using(s.repo.Host, credential.Grant{Repository: path, Actions: []credential.Action{credential.Delete, credential.Describe}})
	return image.New(image.Options{Credentials: resolver, API: ecr.APIs(resolver)})
}

// The same holds of our AWS and of moto, which we did not write. Moto knows no digests of manifests (it makes some of the
// layers' up), no indexes' hold on their images, and no policies: the rest is for the tests beside this one.
func TestWhatOurAWSAndMotoAgreeOn(t *testing.T) {
	for name, start := range map[string]func(*testing.T) service{"ours": ourAWS, "moto": moto} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			agreed(t, s)
		})
	}
}

func agreed(t *testing.T, s service) {
	t.Helper()
	one, two := s.push("a", "v1", "other"), s.push("b", "v2")
	client := s.client(name)
	lease, err := s.resolver.Acquire(t.Context(), s.repo.Host, []credential.Grant{{Repository: name, Actions: []credential.Action{credential.Pull}}})
	if err != nil {
		t.Fatal(err)
	}
	if life := time.Until(lease.ExpiresAt); s.lives && (life < 11*time.Hour || life > 13*time.Hour) || lease.Login.Username != "AWS" || lease.Login.Password.Empty() || !strings.HasPrefix(lease.AWS.AccessKeyID, "ASIA") || lease.AWS.SessionToken.Empty() {
		t.Errorf("got %s for %s", lease.Login.Username, life)
	}
	for tag, want := range map[string]image.Presence{"v1": {State: image.Present}, "v2": {State: image.PresentMoved, TagDigest: two}, "v3": {State: image.PresentMoved}} {
		if got, err := client.Presence(t.Context(), s.repo, one, tag); err != nil || got != want {
			t.Errorf("presence of %s: %+v, %v", tag, got, err)
		}
	}
	if tags, complete, err := client.TagsOf(t.Context(), s.repo, one); err != nil || !complete || !slices.Equal(tags, []string{"other", "v1"}) {
		t.Errorf("tags: %q, %t, %v", tags, complete, err)
	}
	if err := client.Untag(t.Context(), s.repo, "v2"); !errors.Is(err, image.ErrCannotUntag) {
		t.Errorf("the last tag: %v", err)
	}
	for range 2 { // What is gone is success.
		if err := client.Untag(t.Context(), s.repo, "v1"); err != nil {
			t.Errorf("one of two tags: %v", err)
		}
		if err := client.Delete(t.Context(), s.repo, two); err != nil {
			t.Errorf("removal: %v", err)
		}
	}
	if got, err := client.Presence(t.Context(), s.repo, one, "other"); err != nil || got.State != image.Present {
		t.Errorf("presence of what has lost a tag: %+v, %v", got, err)
	}
	if got, err := client.Presence(t.Context(), s.repo, two, "v2"); err != nil || got.State != image.Gone {
		t.Errorf("presence of what was removed: %+v, %v", got, err)
	}
	missing := reference.Repository{Host: s.repo.Host, Path: "team/missing"}
	if got, err := s.client(missing.Path).Presence(t.Context(), missing, one, "v1"); err != nil || got.State != image.Gone {
		t.Errorf("presence in a repository that is not there: %+v, %v", got, err)
	}
}

func ourAWS(t *testing.T) service {
	t.Helper()
	r := newRig(t)
	return service{r.resolver, r.repo, r.push, true}
}

func moto(t *testing.T) service {
	t.Helper()
	newRig(t) // It sets the environment.
	endpoint := awstest.StartMoto(t)
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(region), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIAXXXXXXXXXXXXXXXX", "x", "")))
	if err != nil {
		t.Fatal(err)
	}
	cfg.BaseEndpoint = aws.String(endpoint)
	client := sdk.NewFromConfig(cfg)
	made, err := client.CreateRepository(t.Context(), &sdk.CreateRepositoryInput{RepositoryName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := reference.ParseRepository(*made.Repository.RepositoryUri)
	if err != nil {
		t.Fatal(err)
	}
	source := credential.NewAWS(credential.AWSOptions{Default: &credential.Identity{RoleARN: "arn:aws:iam::123456789012:role/builder"}, STSEndpoint: endpoint, ECREndpoint: endpoint,
		// Before its tokens ended.
		Now: func() time.Time { return time.Date(2014, 12, 31, 12, 0, 0, 0, time.UTC) }})
	return service{credential.NewResolver(nil).WithAWS(source), repo, func(text string, tags ...string) string {
		t.Helper()
		blob := func(mediaType, of string) string {
			return fmt.Sprintf(`{"mediaType":%q,"size":%d,"digest":"sha256:%x"}`, mediaType, len(of), sha256.Sum256([]byte(of)))
		}
		manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}`,
			blob("application/vnd.oci.image.config.v1+json", "config of "+text), blob("application/vnd.oci.image.layer.v1.tar", text))
		digest := ""
		for _, tag := range tags {
			put, err := client.PutImage(t.Context(), &sdk.PutImageInput{RepositoryName: aws.String(name), ImageManifest: aws.String(manifest), ImageManifestMediaType: aws.String("application/vnd.oci.image.manifest.v1+json"), ImageTag: aws.String(tag)})
			if err != nil {
				t.Fatal(err)
			}
			digest = aws.ToString(put.Image.ImageId.ImageDigest)
		}
		return digest
	}, false}
}
