package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestTextRules(t *testing.T) {
	for _, c := range []struct {
		name      string
		rule      validator.String
		ok, wrong []string
	}{
		{"environmentName", environmentName(),
			[]string{"a", "data science, 2nd try", strings.Repeat("ä", 128), "\U0001F40D"},
			[]string{"", strings.Repeat("ä", 129), "a\tb", "a\nb", "a\u007f", "a\u2028b", "a\u2029b", "a\u200db", "a\ue000b"}},
		{"versionLabel", versionLabel(), []string{"1", "2026.01-rc_1", strings.Repeat("9", 64)}, []string{"", "1 2", "1\n", strings.Repeat("9", 65)}},
		{"pythonVersion", pythonVersion(), []string{"3.9", "3.13"}, []string{"", "3", "3.", "3.13.5", "2.7", "3.13\n", " 3.13"}},
		{"deletionPolicy", deletionPolicy(), []string{"delete", "retain"}, []string{"", "keep", "Delete"}},
	} {
		for _, value := range c.ok {
			if found := judge(t, c.rule, value); found != "" {
				t.Errorf("%s refuses %q: %s", c.name, value, found)
			}
		}
		for _, value := range c.wrong {
			if found := judge(t, c.rule, value); !strings.Contains(found, "Write ") {
				t.Errorf("%s says %q of %q, want what to write", c.name, found, value)
			}
		}
	}
}

func judge(t *testing.T, rule validator.String, value string) string {
	t.Helper()
	var resp validator.StringResponse
	rule.ValidateString(t.Context(), validator.StringRequest{Path: path.Root("a"), ConfigValue: types.StringValue(value)}, &resp)
	if !resp.Diagnostics.HasError() {
		return ""
	}
	return resp.Diagnostics[0].Detail()
}
