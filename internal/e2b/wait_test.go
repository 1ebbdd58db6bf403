package e2b_test

import (
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// E2B is asked again when it says, and the build is watched on: neither counts as a look that failed.
func TestLooksWaitAsLongAsE2BAsks(t *testing.T) {
	for name, fault := range map[string]e2btest.Fault{
		"limited":     {Status: 429, Message: "Rate limit exceeded"},
		"unavailable": {Status: 503, Message: "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, e2btest.Options{})
			w.BuildsTake("agent", 50*time.Minute)
			fault.Route, fault.Skip, fault.Times, fault.Header = buildStatus, 3, 6, map[string]string{"Retry-After": "180"}
			w.Inject(fault)
			w.ready(t, order())
			refused := 0
			var last time.Time
			for _, request := range w.Requests() {
				if request.Name() != buildStatus {
					continue
				}
				if pause := request.At.Sub(last); !last.IsZero() && pause < 180*time.Second {
					t.Errorf("asked again after %s", pause)
				}
				last = time.Time{}
				if request.Status == fault.Status {
					refused, last = refused+1, request.At
				}
			}
			if refused != 6 {
				t.Errorf("%d looks were refused", refused)
			}
		})
	}
	t.Run("to the end of the time", func(t *testing.T) {
		w := newWorld(t, e2btest.Options{})
		w.BuildsTake("agent", 50*time.Minute)
		w.Inject(e2btest.Fault{Route: buildStatus, Skip: 3, Times: -1, Status: 429, Header: map[string]string{"Retry-After": "180"}, Message: "Rate limit exceeded"})
		_, err := w.client.NewBuilder().Build(w.clock.Deadline(t.Context(), 20*time.Minute), order())
		says(t, err, "E2B template build took too long", `last status "building"`, "after 20m0s", "Rate limit exceeded")
	})
}
