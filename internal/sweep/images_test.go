package sweep_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/base"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/sweep"
)

// Every resource whose object is an image is looked for: each is listed as what it is, and removed by its id.
func TestImages_ListsEnvironmentsAndBases(t *testing.T) {
	const account, region, name = "111122223333", "eu-west-1", "team/env"
	cloud := awstest.Start(t)
	registry := cloud.Registry(t, account, region)
	repository := reference.Repository{Host: registry.Host, Path: name}
	push := func(text string, labels map[string]string, tag string) string {
		return cloud.PushImage(t, account, region, name, text, labels, tag)
	}
	made := push("a", map[string]string{environment.LabelCacheKey: "sha256:e", base.LabelCacheKey: "sha256:of its base"}, "v1-0badcafe")
	plain := push("b", map[string]string{base.LabelCacheKey: "sha256:b"}, "v1-0badcaff")
	built := push("c", map[string]string{base.LabelCacheKey: "sha256:b"}, "theirs")
	other := push("d", nil, "v1-0badcafd")
	sweeping := func(ids ...string) (string, bool) {
		var out bytes.Buffer
		service := sweep.Images(func(reference.Repository, ...credential.Action) *image.Client { return image.New(image.Options{}) }, []reference.Repository{repository})
		clean := sweep.Run(context.Background(), sweep.Options{Command: "sweep", Now: time.Now, DeleteArtifacts: ids}, []sweep.Service{service}, &out)
		return out.String(), clean
	}
	said, clean := sweeping()
	holds(t, said, "import: terraform import datalayer_environment.NAME "+repository.WithDigest(made).String()+"\n", "cache key sha256:e\n",
		"import: terraform import datalayer_base_image.NAME "+repository.WithDigest(plain).String()+"\n", "cache key sha256:b\n", "Artifacts: 2.")
	if !clean || strings.Contains(said, built) || strings.Contains(said, other) {
		t.Errorf("clean is %t:\n%s", clean, said)
	}
	said, clean = sweeping(repository.WithDigest(plain).String())
	holds(t, said, "removed   artifact "+repository.WithDigest(plain).String())
	if left := registry.Left(t); !clean || slices.Contains(left, name+"@"+plain) || !slices.Contains(left, name+"@"+made) {
		t.Errorf("clean is %t, left %v:\n%s", clean, left, said)
	}
}
