package environment_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// golden is one row of testdata/keys.json. The file only ever grows: a row that changes would rebuild the artifacts of
// everybody who upgrades the provider.
type golden struct {
	Name       string            `json:"name"`
	Spec       specJSON          `json:"spec"`
	LockDigest string            `json:"lockDigest"`
	BaseDigest string            `json:"baseDigest"`
	Platforms  []string          `json:"platforms"`
	Labels     map[string]string `json:"labels"`
	SpecDigest string            `json:"specDigest"`
	CacheKey   string            `json:"cacheKey"`
}

type specJSON struct {
	Env         map[string]string     `json:"env"`
	Files       []fileJSON            `json:"files"`
	AptPackages []string              `json:"aptPackages"`
	PostInstall []environment.Command `json:"postInstall"`
}

type fileJSON struct{ Path, Content, Mode string }

func (s specJSON) spec() environment.Spec {
	spec := environment.Spec{Env: s.Env, AptPackages: s.AptPackages, PostInstall: s.PostInstall}
	for _, f := range s.Files {
		spec.Files = append(spec.Files, environment.File{Path: f.Path, Content: []byte(f.Content), Mode: f.Mode})
	}
	return spec
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []golden
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestKeysStand(t *testing.T) {
	rows := readGolden(t)
	if len(rows) < 6 {
		t.Fatalf("testdata/keys.json has %d rows: rows are only ever added", len(rows))
	}
	seen := map[string]string{}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			spec := row.Spec.spec()
			if got := spec.Digest(); got != row.SpecDigest {
				t.Errorf("spec digest is %s, want %s", got, row.SpecDigest)
			}
			key := environment.Key{Variant: environment.VariantDatalayer, SpecDigest: spec.Digest(), LockDigest: row.LockDigest, BaseDigest: row.BaseDigest,
				Recipe: environment.DatalayerRecipe(row.Platforms, row.Labels)}.CacheKey()
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

func TestSpellingIsNoContent(t *testing.T) {
	off := false
	one := environment.Spec{
		Env:   map[string]string{"A": "1", "B": "2"},
		Files: []environment.File{{Path: "/srv/a", Content: []byte("a"), Mode: "644"}, {Path: "/srv/b", Content: []byte("b"), Mode: "0755"}}, AptPackages: []string{"curl", "git=1:2.0"},
		PostInstall: []environment.Command{{Command: "a\r\nb"}, {Command: "c", Network: &off}},
	}
	other := environment.Spec{
		Env:   map[string]string{"B": "2", "A": "1"},
		Files: []environment.File{{Path: "/srv/b", Content: []byte("b"), Mode: "755"}, {Path: "/srv/a", Content: []byte("a"), Mode: "0644"}}, AptPackages: []string{"git=1:2.0", "curl"},
		PostInstall: []environment.Command{{Command: "a\nb"}, {Command: "c"}},
	}
	if one.Digest() != other.Digest() {
		t.Error("two spellings of one spec have two digests")
	}
	if (environment.Spec{}).Digest() != (environment.Spec{Env: map[string]string{}, Files: []environment.File{}}).Digest() {
		t.Error("nothing and empty have two digests")
	}
	other.PostInstall[0], other.PostInstall[1] = other.PostInstall[1], other.PostInstall[0]
	if one.Digest() == other.Digest() {
		t.Error("the order of commands has no meaning, and it must")
	}
}

func TestOrderOfPlatformsIsNoContent(t *testing.T) {
	key := func(platforms ...string) string {
		return environment.Key{Recipe: environment.DatalayerRecipe(platforms, nil)}.CacheKey()
	}
	if key("linux/amd64", "linux/arm64") != key("linux/arm64", "linux/amd64") {
		t.Error("the order of platforms changes the key")
	}
	if key("linux/amd64") == key("linux/arm64") {
		t.Error("the platform does not change the key")
	}
}
