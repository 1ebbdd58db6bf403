package e2b_test

import (
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// Older deployments list every assignment of a tag, the newest first, and today's the newest alone.
func TestTagsAreListedOnce(t *testing.T) {
	const body = `[{"tag":"default","buildID":"b-3","createdAt":"2026-01-03T00:00:00Z"},{"tag":"dl-x","buildID":"b-3","createdAt":"2026-01-02T12:00:00Z"},
		{"tag":"default","buildID":"b-2","createdAt":"2026-01-02T00:00:00Z"},{"tag":"default","buildID":"b-1","createdAt":"2026-01-01T00:00:00Z"}]`
	w := newWorld(t, e2btest.Options{})
	w.Inject(e2btest.Fault{Route: "GET /templates/{templateID}/tags", Status: 200, Body: body, Header: map[string]string{"Content-Type": "application/json"}})
	tags, err := w.client.Tags(t.Context(), "agent")
	if err != nil || len(tags) != 2 || tags[0].Tag != "default" || tags[0].BuildID != "b-3" || tags[1].Tag != "dl-x" {
		t.Errorf("tags %+v, %v", tags, err)
	}
}
