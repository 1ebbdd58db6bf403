package e2b_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// Whether a request made a template is told by its builds, which E2B may not show for a moment.
func TestWhoMadeATemplate(t *testing.T) {
	const route = "GET /templates/{templateID}"
	unknown := e2btest.Fault{Route: route, Times: 2, Status: 404, Message: "Template x not found"}
	for name, tt := range map[string]struct {
		theirs bool
		before func(t *testing.T, w world)
		faults []e2btest.Fault
		looks  int
		fails  string
	}{
		"ours":   {false, nil, nil, 1, ""},
		"theirs": {true, nil, nil, 1, ""},
		"theirs, of which no build is listed": {true, func(t *testing.T, w world) {
			if err := w.client.RemoveTags(t.Context(), "agent", "v1"); err != nil {
				t.Fatal(err)
			}
		}, nil, 1, ""},
		"ours, stamped a moment later": {false, nil, []e2btest.Fault{{Route: route, Status: 200, Body: "+200ms"}}, 1, ""},
		"of another second":            {true, nil, []e2btest.Fault{{Route: route, Status: 200, Body: "+1s"}}, 1, ""},
		"not there yet":                {false, nil, []e2btest.Fault{unknown}, 3, ""},
		"not listed yet":               {true, nil, []e2btest.Fault{{Route: route, Status: 200, Body: "EMPTY"}}, 2, ""},
		"never there":                  {false, nil, []e2btest.Fault{{Route: route, Times: -1, Status: 404, Message: "Template x not found"}}, 3, "404"},
		"never listed":                 {true, nil, []e2btest.Fault{{Route: route, Times: -1, Status: 200, Body: "EMPTY"}}, 3, "no build"},
		"may not be asked":             {false, nil, []e2btest.Fault{{Route: route, Status: 403, Message: "team is blocked"}}, 1, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			if tt.theirs {
				w.AddTemplate(e2btest.Key, "agent", "v1")
				w.clock.Advance(time.Second)
			}
			if tt.before != nil {
				tt.before(t, w)
			}
			requested, err := w.client.RequestBuild(t.Context(), order().Request)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range tt.faults {
				if fault.Body != "" {
					builds, made := "", time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
					if later, err := time.ParseDuration(fault.Body); err == nil {
						builds = fmt.Sprintf(`{"buildID":%q,"status":"waiting","createdAt":%q,"updatedAt":%[2]q}`, requested.BuildID, made.Add(later).Format(time.RFC3339Nano))
					}
					fault.Body = fmt.Sprintf(`{"templateID":%q,"names":["acme-team/agent"],"createdAt":%q,"builds":[%s]}`, requested.TemplateID, made.Format(time.RFC3339Nano), builds)
					fault.Header = map[string]string{"Content-Type": "application/json"}
				}
				w.Inject(fault)
			}
			made, err := w.client.MadeBy(t.Context(), requested)
			w.asked(t, route, tt.looks)
			if tt.fails != "" {
				says(t, err, tt.fails, requested.TemplateID)
				return
			}
			if err != nil || made == tt.theirs {
				t.Errorf("made by the request: %t, %v", made, err)
			}
		})
	}
}

func TestMadeWithWantsAllBuildsAndOneTime(t *testing.T) {
	made := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	first, later := e2b.Build{BuildID: "first", CreatedAt: made}, e2b.Build{BuildID: "later", CreatedAt: made.Add(time.Hour)}
	for name, tt := range map[string]struct {
		template e2b.Template
		build    string
		want     bool
	}{
		"first":               {e2b.Template{CreatedAt: made, Builds: []e2b.Build{later, first}}, "first", true},
		"not the first":       {e2b.Template{CreatedAt: made, Builds: []e2b.Build{later, first}}, "later", false},
		"first left":          {e2b.Template{CreatedAt: made, Builds: []e2b.Build{later}}, "later", false},
		"of a moment later":   {e2b.Template{CreatedAt: made.Add(-time.Microsecond), Builds: []e2b.Build{first}}, "first", false},
		"older ones not read": {e2b.Template{CreatedAt: made, Builds: []e2b.Build{first}, Older: true}, "first", false},
		"no time":             {e2b.Template{Builds: []e2b.Build{{BuildID: "first"}}}, "first", false},
		"no builds":           {e2b.Template{CreatedAt: made}, "first", false},
	} {
		if got := tt.template.MadeWith(tt.build); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
