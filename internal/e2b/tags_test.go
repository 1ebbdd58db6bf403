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

// An answer that was lost is looked up, and the request made again after a pause.
func TestTagsThatE2BFailsToPut(t *testing.T) {
	const assign = "POST /templates/tags"
	for name, tt := range map[string]struct {
		fault e2btest.Fault
		asked int
		words []string
	}{
		"lost":     {e2btest.Fault{Lose: true}, 1, nil},
		"twice":    {e2btest.Fault{Times: 2, Status: 503, Message: "unavailable"}, 3, nil},
		"for good": {e2btest.Fault{Times: -1, Status: 503, Message: "unavailable"}, 3, []string{"Tags could not be put on the E2B build", "503", "unavailable"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			built := w.ready(t, order())
			tt.fault.Route = assign
			w.Inject(tt.fault)
			err := w.client.AssignTags(t.Context(), built.TemplateID, built.BuildID, "prod")
			w.asked(t, assign, tt.asked)
			w.spaced(t, assign)
			if tt.words != nil {
				says(t, err, tt.words...)
			} else if launched, refused := w.Launches(e2btest.Key, "agent:prod"); err != nil || launched != built.BuildID {
				t.Errorf("prod launches %q (%s), %v", launched, refused, err)
			}
		})
	}
}
