package sbom

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// PredicateType is the type of the statements that hold a document.
const PredicateType = "https://spdx.dev/Document"

// tool is who made a document. The number changes with what a document of the same root file system says.
const tool = "Tool: datalayer-sbom-1"

const (
	documentID  = "SPDXRef-DOCUMENT"
	noAssertion = "NOASSERTION"
)

// Document is an SPDX 2.3 document, as far as this generator fills one in.
type Document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	Comment           string         `json:"comment,omitempty"`
	CreationInfo      CreationInfo   `json:"creationInfo"`
	Packages          []SPDXPackage  `json:"packages,omitempty"`
	Relationships     []Relationship `json:"relationships,omitempty"`
}

// CreationInfo says when (UTC) and by what a document was made.
type CreationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// SPDXPackage is a Package as a document shows it.
type SPDXPackage struct {
	Name             string              `json:"name"`
	SPDXID           string              `json:"SPDXID"`
	VersionInfo      string              `json:"versionInfo"`
	DownloadLocation string              `json:"downloadLocation"`
	FilesAnalyzed    bool                `json:"filesAnalyzed"`
	SourceInfo       string              `json:"sourceInfo"`
	LicenseConcluded string              `json:"licenseConcluded"`
	LicenseDeclared  string              `json:"licenseDeclared"`
	LicenseComments  string              `json:"licenseComments,omitempty"`
	CopyrightText    string              `json:"copyrightText"`
	ExternalRefs     []ExternalReference `json:"externalRefs"`
}

// ExternalReference is a package's name elsewhere: its purl.
type ExternalReference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship says that the document describes a package.
type Relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// NewDocument writes an inventory as a document. Equal arguments give equal documents, and the namespace is different as
// soon as anything else in the document is. What was skipped is in the document's comment.
func NewDocument(name string, inventory *Inventory, created time.Time) (*Document, error) {
	document := &Document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: documentID, Name: name,
		CreationInfo: CreationInfo{Created: created.UTC().Format("2006-01-02T15:04:05Z"), Creators: []string{tool}},
	}
	if skipped := inventory.Skipped; len(skipped) > 0 {
		document.Comment = fmt.Sprintf("Not listed (%d):\n%s", len(skipped), strings.Join(skipped, "\n"))
	}
	for _, p := range inventory.Packages {
		shown := newSPDXPackage(p)
		document.Packages = append(document.Packages, shown)
		document.Relationships = append(document.Relationships, Relationship{documentID, "DESCRIBES", shown.SPDXID})
	}
	content, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	document.DocumentNamespace = fmt.Sprintf("https://github.com/datalayer/terraform-provider-datalayer/sbom/%s-%x",
		escape(name), sha256.Sum256(content))
	return document, nil
}

func newSPDXPackage(p Package) SPDXPackage {
	shown := SPDXPackage{
		Name: p.Name, SPDXID: spdxID(p), VersionInfo: p.Version, DownloadLocation: noAssertion,
		SourceInfo:       "installed package information from: " + p.Location,
		LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, CopyrightText: noAssertion,
		ExternalRefs: []ExternalReference{{"PACKAGE-MANAGER", "purl", p.PURL}},
	}
	if p.Source != "" {
		shown.SourceInfo += "; built from source package: " + p.Source
	}
	switch {
	case isLicenseExpression(p.License):
		shown.LicenseDeclared = p.License
	case p.License != "":
		shown.LicenseComments = "declared as: " + p.License
	}
	return shown
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// spdxID is unique, because names that differ only in what an SPDXID cannot hold differ in the hash.
func spdxID(p Package) string {
	identity := sha256.Sum256([]byte(strings.Join([]string{p.Type, p.Name, p.Version, p.Architecture, p.Location}, "\x00")))
	return fmt.Sprintf("SPDXRef-%s-%s-%x", p.Type, notInID.ReplaceAllString(p.Name, "-"), identity[:8])
}

// Statement gives the document as BuildKit takes it: one in-toto statement, without subjects, which BuildKit fills in.
func (d *Document) Statement() ([]byte, error) {
	return json.Marshal(struct {
		Type          string    `json:"_type"`
		PredicateType string    `json:"predicateType"`
		Subject       []string  `json:"subject"`
		Predicate     *Document `json:"predicate"`
	}{"https://in-toto.io/Statement/v0.1", PredicateType, []string{}, d})
}
