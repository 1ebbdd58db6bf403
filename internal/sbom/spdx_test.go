package sbom_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/datalayer/terraform-provider-datalayer/internal/sbom"
)

var update = flag.Bool("update", false, "write the golden file")

var epoch = time.Date(2025, 6, 15, 17, 6, 40, 0, time.FixedZone("", 2*3600))

func statement(t *testing.T, root fstest.MapFS, created time.Time) []byte {
	t.Helper()
	document, err := sbom.NewDocument("sbom", scan(t, root), created)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := document.Statement()
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

func predicate(t *testing.T, statement []byte) *sbom.Document {
	t.Helper()
	var parsed struct {
		Type          string         `json:"_type"`
		PredicateType string         `json:"predicateType"`
		Subject       []any          `json:"subject"`
		Predicate     *sbom.Document `json:"predicate"`
	}
	strict := json.NewDecoder(bytes.NewReader(statement))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&parsed); err != nil {
		t.Fatal(err)
	}
	if parsed.Type != "https://in-toto.io/Statement/v0.1" || parsed.PredicateType != "https://spdx.dev/Document" || len(parsed.Subject) != 0 {
		t.Errorf("statement %q of type %q about %v", parsed.Type, parsed.PredicateType, parsed.Subject)
	}
	return parsed.Predicate
}

func TestStatementIsAsAgreed(t *testing.T) {
	root := debian()
	root["lib/half-1.dist-info/RECORD"] = file("")
	var got bytes.Buffer
	if err := json.Indent(&got, statement(t, root, epoch), "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "sbom.spdx.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (go test ./internal/sbom -update writes it anew)\n%s", golden, diff)
	}
}

// What the SPDX 2.3 specification asks of each field that is filled in.
func TestDocumentIsValidSPDX(t *testing.T) {
	document := predicate(t, statement(t, debian(), epoch))
	if document.SPDXVersion != "SPDX-2.3" || document.DataLicense != "CC0-1.0" || document.SPDXID != "SPDXRef-DOCUMENT" || document.Name == "" {
		t.Errorf("head %+v", document)
	}
	namespace, err := url.Parse(document.DocumentNamespace)
	if err != nil || !namespace.IsAbs() || namespace.Fragment != "" {
		t.Errorf("namespace %q: %v", document.DocumentNamespace, err)
	}
	if document.CreationInfo.Created != "2025-06-15T15:06:40Z" {
		t.Errorf("created %q", document.CreationInfo.Created)
	}
	for _, creator := range document.CreationInfo.Creators {
		if !regexp.MustCompile(`^Tool: [a-z-]+-\d+$`).MatchString(creator) {
			t.Errorf("creator %q", creator)
		}
	}
	ids := map[string]bool{document.SPDXID: true}
	for _, p := range document.Packages {
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.SPDXID) || ids[p.SPDXID] {
			t.Errorf("SPDXID %q is malformed or taken", p.SPDXID)
		}
		ids[p.SPDXID] = true
		if p.Name == "" || p.DownloadLocation != "NOASSERTION" || p.FilesAnalyzed || p.LicenseConcluded != "NOASSERTION" || p.CopyrightText != "NOASSERTION" {
			t.Errorf("package %+v", p)
		}
		if strings.ContainsAny(p.LicenseDeclared, "\n,") || p.LicenseDeclared == "" {
			t.Errorf("%s: licenseDeclared %q", p.Name, p.LicenseDeclared)
		}
		if len(p.ExternalRefs) != 1 || p.ExternalRefs[0].Category != "PACKAGE-MANAGER" || p.ExternalRefs[0].Type != "purl" ||
			!regexp.MustCompile(`^pkg:(deb/[a-z]+|pypi)/[^@/?#\s]+@[^@/?#\s]+(\?arch=[a-z0-9]+&distro=\S+)?$`).MatchString(p.ExternalRefs[0].Locator) {
			t.Errorf("%s: externalRefs %+v", p.Name, p.ExternalRefs)
		}
	}
	if len(document.Relationships) != len(document.Packages) || len(document.Packages) != 11 {
		t.Errorf("%d relationships of %d packages", len(document.Relationships), len(document.Packages))
	}
	for _, r := range document.Relationships {
		if r.Element != document.SPDXID || r.Type != "DESCRIBES" || r.Related == r.Element || !ids[r.Related] {
			t.Errorf("relationship %+v", r)
		}
	}
}

func TestEqualContentIsEqualBytes(t *testing.T) {
	first := statement(t, debian(), epoch)
	if again := statement(t, debian(), epoch.UTC()); !bytes.Equal(first, again) {
		t.Errorf("two scans of one root differ:\n%s\n%s", first, again)
	}
	namespaces := map[string]string{predicate(t, first).DocumentNamespace: "the first"}
	for name, other := range map[string][]byte{
		"a second later": statement(t, debian(), epoch.Add(time.Second)),
		"a package less": func() []byte {
			root := debian()
			delete(root, packages+"old_style.egg-info")
			return statement(t, root, epoch)
		}(),
	} {
		namespace := predicate(t, other).DocumentNamespace
		if same, taken := namespaces[namespace]; taken {
			t.Errorf("%s has the namespace of %s", name, same)
		}
		namespaces[namespace] = name
	}
}
