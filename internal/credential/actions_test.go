package credential

import (
	"os"
	"strings"
	"testing"
)

func TestActionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../templates/ephemeral-resources/registry_credentials.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range Actions {
		_, row, found := strings.Cut(string(page), "| `"+string(action)+"` |")
		row, _, _ = strings.Cut(row, "\n")
		if !found || len(iamActions[action]) == 0 {
			t.Errorf("%q is not on the page, or means nothing in IAM", action)
		}
		for _, name := range iamActions[action] {
			if !strings.Contains(row, "`ecr:"+name+"`") {
				t.Errorf("ecr:%s is not in the row of %q:%s", name, action, row)
			}
		}
		if listed := strings.Count(row, "`ecr:"); listed != len(iamActions[action]) {
			t.Errorf("the row of %q lists %d actions, want %d:%s", action, listed, len(iamActions[action]), row)
		}
	}
	if len(Actions) != len(iamActions) || Action("admin").Valid() {
		t.Errorf("actions %v, IAM's %v", Actions, iamActions)
	}
}
