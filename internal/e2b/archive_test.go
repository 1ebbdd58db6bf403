package e2b_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

func TestPack(t *testing.T) {
	a, b := e2b.ArchivedFile{Path: "0/a.txt", Mode: 0o644, Content: []byte("a")}, e2b.ArchivedFile{Path: "0/bin/" + strings.Repeat("ü", 80), Mode: 0o755, Content: make([]byte, 3000)}
	archive, err := e2b.Pack(a, b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e2b.Pack(b, a)
	if err != nil || again.Hash != archive.Hash || !slices.Equal(again.Tar, archive.Tar) || len(archive.Hash) != 64 {
		t.Errorf("the order of files counts: %s, %s, %v", archive.Hash, again.Hash, err)
	}
	for name, changed := range map[string]e2b.ArchivedFile{"path": {Path: "0/b.txt", Mode: 0o644, Content: a.Content}, "mode": {Path: a.Path, Mode: 0o600, Content: a.Content}, "content": {Path: a.Path, Mode: 0o644, Content: []byte("b")}} {
		if other, err := e2b.Pack(changed, b); err != nil || other.Hash == archive.Hash {
			t.Errorf("another %s gives the same hash, %v", name, err)
		}
	}
	for name, files := range map[string][]e2b.ArchivedFile{"absolute": {{Path: "/a"}}, "upwards": {{Path: "../a"}}, "empty": {{}}, "twice": {a, a}} {
		if _, err := e2b.Pack(files...); err == nil {
			t.Errorf("%s is packed", name)
		}
	}

	w := newWorld(t, e2btest.Options{})
	order := order()
	order.Archives = []e2b.Archive{archive}
	order.Start.Steps = append(order.Start.Steps, e2b.Step{Type: "COPY", Args: []string{"0", "/srv", "root:root", ""}, FilesHash: archive.Hash})
	built := w.ready(t, order)
	uploaded, err := w.Uploaded(e2btest.DefaultTeam)
	if want := []string{"0/a.txt 0644 1", b.Path + " 0755 3000"}; err != nil || !slices.Equal(uploaded[archive.Hash], want) {
		t.Errorf("uploaded %q, %v", uploaded, err)
	}
	w.nothingLeft(t, built.TemplateID)
}
