package provider_test

import (
	"net/http"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
)

// C23: a refusal because of sandboxes is asked again within the time there is.
func TestCLIE2B_DestroyWaitsForSandboxes(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	s.AddSandbox(fullName, false)
	s.Inject(e2btest.Fault{Route: deleteTemplate, Skip: 1, Pass: true, Before: func(e2btest.Request) { s.EndSandboxes() }})
	c.destroyE2B(s)
	if asked := s.Count(deleteTemplate); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if s.Count("DELETE /sandboxes/{sandboxID}") != 0 {
		t.Error("a sandbox was ended")
	}
}

// C23: another refusal is an error at once, and the next destroy works.
func TestCLIE2B_DestroyThatIsRefusedOtherwiseDoesNotWait(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	s.Inject(e2btest.Fault{Route: deleteTemplate, Status: http.StatusBadRequest, Message: "Invalid template ID: bad id"})
	c.expect(1, "destroy", "-auto-approve").says(t, "E2B template could not be deleted", "400 Bad Request: Invalid template ID: bad id", "State is kept")
	if asked := s.Count(deleteTemplate); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}
