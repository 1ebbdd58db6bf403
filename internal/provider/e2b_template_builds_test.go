package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b"
	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// somebody is another user of the team, by the same API.
func (s *e2bStack) somebody(t *testing.T) *e2b.Client {
	t.Helper()
	client, err := e2b.New(e2b.Options{APIKey: secret.New(e2btest.Key), APIURL: s.URL})
	must(t, err)
	return client
}

// untag takes from a build the tag that it was asked for with.
func (s *e2bStack) untag(t *testing.T, buildID string) {
	t.Helper()
	for _, tag := range s.Tags(fullName) {
		if _, _, ours := e2b.SplitOwnTag(tag.Tag); ours && tag.BuildID == buildID {
			must(t, s.somebody(t).RemoveTags(t.Context(), "agent-env", tag.Tag))
			return
		}
	}
	t.Fatalf("build %s has no tag of ours", buildID)
}

func (c *cli) buildIDs() []string {
	c.t.Helper()
	var ids []string
	all, _ := c.only().Attributes["build_ids"].([]any)
	for _, id := range all {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

// launch checks that each of these builds launches by its id.
func (s *e2bStack) launch(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if build, refused := s.Launches(e2btest.Key, fullName+":"+id); build != id {
			t.Errorf("%s launches %q (%s)", id, build, refused)
		}
	}
}

// What somebody made unlaunchable leaves build_ids at the next refresh, which asks nothing more for that, and plans nothing.
func TestCLIE2B_BuildIDsAreThoseThatStillLaunch(t *testing.T) {
	for managed, budget := range map[bool]int{false: 1, true: 2} {
		t.Run(fmt.Sprintf("default managed %t", managed), func(t *testing.T) {
			s := newE2B(t)
			c := s.newCLI(t)
			for _, memory := range []int{1024, 2048, 4096} {
				c.write("main.tf", template(fmt.Sprintf("  memory_mb = %d\n  move_default_tag = %t\n", memory, managed)))
				c.apply()
			}
			made := c.buildIDs()
			if len(made) != 3 {
				t.Fatalf("build_ids is %q", made)
			}
			s.launch(t, made...)
			s.untag(t, made[0])
			want := made[1:]
			if managed {
				// It was under default once, and E2B keeps that.
				want = made
			}
			s.launch(t, want...)
			s.Forget()
			c.expect(0, "apply", "-refresh-only", "-auto-approve")
			if got := len(s.Requests()); got != budget {
				t.Errorf("a refresh took %d requests, want %d", got, budget)
			}
			if got := c.buildIDs(); !slices.Equal(got, want) {
				t.Errorf("build_ids is %q, want %q", got, want)
			}
			c.planIsEmpty()
			c.destroyE2B(s)
		})
	}
}

// The build that the state pins goes the same way, and the next apply makes another.
func TestCLIE2B_PinnedBuildThatWasUntaggedIsBuiltAnew(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  move_default_tag = false\n"))
	c.apply()
	c.write("main.tf", template("  move_default_tag = false\n  memory_mb = 2048\n"))
	c.apply()
	made := c.buildIDs()
	s.untag(t, made[1])
	c.expect(2, "plan", "-detailed-exitcode").says(t, "Build of the E2B template is gone", made[1], "is no longer listed", "0 to add, 1 to change, 0 to destroy")
	c.apply().says(t, "0 added, 1 changed, 0 destroyed")
	now := c.buildIDs()
	if len(now) != 2 || now[0] != made[0] || now[1] == made[1] {
		t.Errorf("build_ids is %q, was %q", now, made)
	}
	s.launch(t, now...)
	c.planIsEmpty()
	c.destroyE2B(s)
}

// A refresh reads one page of builds. Those of ours that lie beyond it are not taken for gone.
func TestCLIE2B_BuildIDsBeyondTheFirstPageStay(t *testing.T) {
	s := newE2B(t)
	c := s.newCLI(t)
	c.write("main.tf", template("  move_default_tag = false\n"))
	c.apply()
	for range 100 {
		_, err := s.somebody(t).RequestBuild(t.Context(), e2b.BuildRequest{Name: "agent-env", Tags: []string{"other"}})
		must(t, err)
	}
	c.write("main.tf", template("  move_default_tag = false\n  memory_mb = 2048\n"))
	c.apply()
	made := c.buildIDs()
	s.Forget()
	c.expect(0, "apply", "-refresh-only", "-auto-approve")
	if got := len(s.Requests()); got != 1 {
		t.Errorf("a refresh took %d requests", got)
	}
	if got := c.buildIDs(); !slices.Equal(got, made) || len(got) != 2 {
		t.Errorf("build_ids is %s, was %s", strings.Join(got, ", "), strings.Join(made, ", "))
	}
	c.planIsEmpty()
	c.destroyE2B(s)
}
