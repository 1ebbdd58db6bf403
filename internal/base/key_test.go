package base_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
)

// golden is one row of testdata/keys.json. The file only ever grows: a row that changes would rebuild the bases of
// everybody who upgrades the provider, and all that stands on them.
type golden struct {
	Name     string   `json:"name"`
	Key      base.Key `json:"key"`
	CacheKey string   `json:"cacheKey"`
}

func TestKeysStand(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []golden
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 7 {
		t.Fatalf("testdata/keys.json has %d rows: rows are only ever added", len(rows))
	}
	seen := map[string]string{}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			key := row.Key.CacheKey()
			if key != row.CacheKey {
				t.Errorf("cache key is %s, want %s", key, row.CacheKey)
			}
			if other, ok := seen[key]; ok {
				t.Errorf("%q has the same key as %q", row.Name, other)
			}
			seen[key] = row.Name
		})
	}
}

func TestOrderOfPlatformsIsNoContent(t *testing.T) {
	one, other := base.Key{Platforms: []string{"linux/amd64", "linux/arm64"}}, base.Key{Platforms: []string{"linux/arm64", "linux/amd64"}, Labels: map[string]string{}}
	if one.CacheKey() != other.CacheKey() {
		t.Error("the order of platforms, or no labels, changes the key")
	}
}
