package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// environment makes what BuildKit prepares: a root file system with one package, and a place for the result.
func environment(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{
		"BUILDKIT_SCAN_SOURCE":      filepath.Join(t.TempDir(), "sbom"),
		"BUILDKIT_SCAN_DESTINATION": t.TempDir(),
	}
	install(t, env["BUILDKIT_SCAN_SOURCE"], "main")
	return env
}

func install(t *testing.T, root, name string) {
	t.Helper()
	dir := filepath.Join(root, "lib", name+"-1.dist-info")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "METADATA"), []byte("Name: "+name+"\nVersion: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func now() time.Time { return time.Unix(1800000000, 0) }

// written gives the packages and time of each document, by file name.
func written(t *testing.T, env map[string]string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(env["BUILDKIT_SCAN_DESTINATION"])
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(env["BUILDKIT_SCAN_DESTINATION"], entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var statement struct {
			PredicateType string
			Predicate     struct {
				CreationInfo struct{ Created string }
				Packages     []struct{ Name string }
			}
		}
		if err := json.Unmarshal(data, &statement); err != nil {
			t.Fatal(err)
		}
		text := statement.PredicateType + " " + statement.Predicate.CreationInfo.Created
		for _, p := range statement.Predicate.Packages {
			text += " " + p.Name
		}
		found[entry.Name()] = text
	}
	return found
}

func TestGeneratorWritesOneStatementPerSource(t *testing.T) {
	env := environment(t)
	extras := t.TempDir()
	env["BUILDKIT_SCAN_SOURCE_EXTRAS"] = extras
	install(t, filepath.Join(extras, "sbom-context"), "extra")
	env["SOURCE_DATE_EPOCH"] = "1750000000"
	var printed bytes.Buffer
	if err := run(func(name string) string { return env[name] }, now, log.New(&printed, "", 0)); err != nil {
		t.Fatal(err)
	}
	got := written(t, env)
	for name, want := range map[string]string{
		"sbom.spdx.json":         "https://spdx.dev/Document 2025-06-15T15:06:40Z main",
		"sbom-context.spdx.json": "https://spdx.dev/Document 2025-06-15T15:06:40Z extra",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("wrote %q", got)
	}
	want := "sbom: not listed: /var/lib/dpkg: there is no database of dpkg, so that no Debian package is listed\nsbom: 1 packages listed, 1 things not listed\n"
	if !strings.HasPrefix(printed.String(), want) {
		t.Errorf("printed %q, want %q first", printed.String(), want)
	}
}

func TestGeneratorTakesTheTime(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"now":                  {nil, "2027-01-15T08:00:00Z"},
		"SOURCE_DATE_EPOCH":    {map[string]string{"SOURCE_DATE_EPOCH": "0"}, "1970-01-01T00:00:00Z"},
		"BuildKit's parameter": {map[string]string{"SOURCE_DATE_EPOCH": "0", "BUILDKIT_SCAN_SOURCE_DATE_EPOCH": "1"}, "1970-01-01T00:00:01Z"},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(t)
			for key, value := range test.env {
				env[key] = value
			}
			// Extras that do not exist are no extras.
			env["BUILDKIT_SCAN_SOURCE_EXTRAS"] = filepath.Join(t.TempDir(), "absent")
			if err := run(func(name string) string { return env[name] }, now, log.New(io.Discard, "", 0)); err != nil {
				t.Fatal(err)
			}
			if got := written(t, env)["sbom.spdx.json"]; got != "https://spdx.dev/Document "+test.want+" main" {
				t.Errorf("wrote %q, want time %s", got, test.want)
			}
		})
	}
}

func TestGeneratorFailsLoudly(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, env map[string]string)
		want   string
	}{
		"no source":      {func(_ *testing.T, env map[string]string) { delete(env, "BUILDKIT_SCAN_SOURCE") }, "must be set"},
		"no destination": {func(_ *testing.T, env map[string]string) { delete(env, "BUILDKIT_SCAN_DESTINATION") }, "must be set"},
		"absent source":  {func(_ *testing.T, env map[string]string) { env["BUILDKIT_SCAN_SOURCE"] += "-gone" }, "sbom-gone: "},
		"wrong time":     {func(_ *testing.T, env map[string]string) { env["SOURCE_DATE_EPOCH"] = "soon" }, `"soon" is not a number`},
		"an extra that is a file": {func(t *testing.T, env map[string]string) {
			env["BUILDKIT_SCAN_SOURCE_EXTRAS"] = t.TempDir()
			if err := os.WriteFile(filepath.Join(env["BUILDKIT_SCAN_SOURCE_EXTRAS"], "sbom-file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "sbom-file: "},
		"absent destination": {func(_ *testing.T, env map[string]string) { env["BUILDKIT_SCAN_DESTINATION"] += "/gone" }, "gone/sbom.spdx.json"},
		"a result that is there": {func(t *testing.T, env map[string]string) {
			if err := os.WriteFile(filepath.Join(env["BUILDKIT_SCAN_DESTINATION"], "sbom.spdx.json"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "file exists"},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment(t)
			test.change(t, env)
			if err := run(func(name string) string { return env[name] }, now, log.New(io.Discard, "", 0)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
