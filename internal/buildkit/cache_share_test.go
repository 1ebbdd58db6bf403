package buildkit

import (
	"reflect"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

func TestCacheOfSeveralDaemonsHasATagForEach(t *testing.T) {
	cache := reference.Repository{Host: "h.example", Path: "cache"}
	pinned, long := cache.WithDigest("sha256:"+strings.Repeat("a", 64)), cache.WithTag(strings.Repeat("t", 128))
	whole := Cache{Imports: []reference.Reference{cache.WithTag("main"), pinned, long}, Export: cache.WithTag("main")}
	given := whole.of([]string{"linux/arm64"})
	want := Cache{Imports: []reference.Reference{cache.WithTag("main"), pinned, long, cache.WithTag("main-linux-arm64")}, Export: cache.WithTag("main-linux-arm64")}
	if !reflect.DeepEqual(given, want) {
		t.Errorf("the cache is %v, want %v", given, want)
	}
	if len(whole.Imports) != 3 {
		t.Errorf("the request's own cache became %v", whole)
	}
	if none := (Cache{}).of([]string{"linux/arm64", "linux/amd64"}); !reflect.DeepEqual(none, Cache{}) {
		t.Errorf("no cache became %v", none)
	}
}
