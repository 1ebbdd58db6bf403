package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// A release that carries another code-interpreter server, edit, start or ready command builds nothing anew by that: state keeps what
// was chosen when the template was built.
func TestCLIE2B_StateWithPartsOfAnEarlierReleasePlansNothing(t *testing.T) {
	c := stateCLI(t, "e2b-minimal", func(i *storedInstance) {
		earlier := environment.E2BContent{CPUCount: 2, MemoryMB: 1024, StartCommand: "/opt/datalayer/earlier/start", ReadyCommand: "test -e /opt/datalayer/earlier/ready",
			ServerCommit: strings.Repeat("1", 40), EditDigest: "sha256:" + strings.Repeat("2", 64)}
		base, err := reference.ParsePinned(fmt.Sprint(i.Attributes["base"]))
		must(t, err)
		key := environment.Key{Variant: environment.VariantE2B, SpecDigest: fmt.Sprint(i.Attributes["spec_digest"]), BaseDigest: base.Digest, Recipe: environment.E2BRecipe(earlier)}.CacheKey()
		if key == i.Attributes["cache_key"] {
			t.Fatal("the parts are those of this release")
		}
		i.Attributes["cache_key"], i.Attributes["start_command"], i.Attributes["ready_command"] = key, earlier.StartCommand, earlier.ReadyCommand
		i.Attributes["code_interpreter"] = map[string]any{"source": nil, "commit": earlier.ServerCommit, "edit_digest": earlier.EditDigest}
		artifact, ok := i.Attributes["artifact"].(map[string]any)
		if !ok {
			t.Fatalf("artifact is %v", i.Attributes["artifact"])
		}
		artifact["cache_key"] = key
	})
	c.planIsEmpty("-refresh=false")
	// A build for another reason takes this release's.
	c.write("main.tf", strings.Replace(testdata(t, stateFolder+"e2b-minimal.tf"), "\n}", "\n  memory_mb = 2048\n}", 1))
	c.expect(2, "plan", "-detailed-exitcode", "-refresh=false").says(t, "0 to add, 1 to change, 0 to destroy", `"/opt/datalayer/earlier/start" -> `, `"`+strings.Repeat("1", 40)+`" -> `)
}

// C40: fields that nothing is decided by may be missing or null in a state.
func TestCLIE2B_StateWithOddFieldsPlansNothing(t *testing.T) {
	for name, change := range map[string]func(attributes map[string]any){
		"missing": func(attributes map[string]any) {
			delete(attributes, "credential_expires_at")
			delete(attributes, "rebuild_trigger")
			delete(attributes, "timeouts")
		},
		"another": func(attributes map[string]any) { attributes["of_a_later_release"] = "1" },
	} {
		t.Run(name, func(t *testing.T) {
			stateCLI(t, "e2b-minimal", func(i *storedInstance) { change(i.Attributes) }).planIsEmpty("-refresh=false")
		})
	}
}

// C40: a state of a newer schema is refused as such.
func TestCLIE2B_StateOfANewerReleaseIsRefused(t *testing.T) {
	c := stateCLI(t, "e2b-minimal", func(i *storedInstance) { i.SchemaVersion = 1 })
	c.expect(1, "plan", "-refresh=false").says(t, "newer provider version", templateAddress)
	if len(c.instances()) != 1 {
		t.Errorf("state holds %v, want what it held", c.instances())
	}
}

// C40: another address is no change at E2B.
func TestCLIE2B_MovedResourceIsNotAsked(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template(""))
	c.apply()
	before := c.only().Attributes
	c.write("main.tf", strings.Replace(template(""), `"datalayer_e2b_template" "t"`, `"datalayer_e2b_template" "other"`, 1)+`
moved {
  from = datalayer_e2b_template.t
  to   = datalayer_e2b_template.other
}
`)
	s.Forget()
	c.apply("-refresh=false").says(t, "datalayer_e2b_template.t has moved to datalayer_e2b_template.other", "0 added, 0 changed, 0 destroyed")
	if asked := len(s.Requests()); asked > 0 {
		t.Errorf("E2B was asked %d times", asked)
	}
	if now := c.only().Attributes["reference"]; now != before["reference"] {
		t.Errorf("reference is %v, want %v", now, before["reference"])
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}
