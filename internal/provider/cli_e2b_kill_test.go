package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/e2b/e2btest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// e2bKilling is a state of things, and a run that is killed in it.
type e2bKilling struct {
	prepare   func(*cli)
	arguments []string
}

var e2bKillings = map[string]e2bKilling{
	"create": {func(c *cli) { c.write("main.tf", template("  tags = [\"stable\"]\n"+withLock(sixLock))) }, []string{"apply", "-auto-approve"}},
	"rebuild": {func(c *cli) {
		c.write("main.tf", template("  tags = [\"stable\"]\n"+withLock(sixLock)))
		c.apply()
		c.write("main.tf", template("  tags = [\"newer\"]\n"+withLock(otherLock)))
	}, []string{"apply", "-auto-approve"}},
	"change in place": {func(c *cli) {
		c.write("main.tf", template("  tags = [\"stable\"]\n  move_default_tag = false\n"))
		c.apply()
		c.write("main.tf", template("  tags = [\"newer\"]\n  public = true\n"))
	}, []string{"apply", "-auto-approve"}},
	"destroy": {func(c *cli) {
		c.write("main.tf", template(""))
		c.apply()
	}, []string{"destroy", "-auto-approve"}},
}

// A run that is killed at any request leaves what the next apply makes, or names with the way to import it. Nothing is
// there twice, and nothing is left when that is destroyed.
func TestCLIE2B_KillAtEveryRequest(t *testing.T) {
	killed, most := 0, 0
	for _, name := range slices.Sorted(maps.Keys(e2bKillings)) {
		k := e2bKillings[name]
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			for i, route := range k.order(t) {
				before := seen[route]
				seen[route]++
				for _, carriedOut := range []bool{false, true} {
					if carriedOut && strings.HasPrefix(route, "GET ") {
						continue
					}
					t.Run(fmt.Sprintf("%d %s carried out %t", i+1, strings.ReplaceAll(route, "/", "."), carriedOut), func(t *testing.T) {
						killed, most = killed+1, max(most, k.killedAt(t, route, before, carriedOut))
					})
				}
			}
		})
	}
	enginetest.Figure(t, "%d requests killed, at most %d templates at E2B then, none after what follows and a destroy", killed, most)
}

// order are the requests of a run that nobody kills.
func (k e2bKilling) order(t *testing.T) (routes []string) {
	t.Helper()
	s := newE2B(t)
	c := s.newCLI(t)
	k.prepare(c)
	s.Forget()
	c.expect(0, k.arguments...)
	for _, request := range s.Requests() {
		routes = append(routes, request.Name())
	}
	if len(routes) == 0 {
		t.Fatal("the run asks nothing")
	}
	c.destroyE2B(s)
	return routes
}

// killedAt gives how many templates and sandboxes there were at E2B after the kill.
func (k e2bKilling) killedAt(t *testing.T, route string, before int, carriedOut bool) (left int) {
	s := newE2B(t)
	c := s.newCLI(t)
	k.prepare(c)
	was := c.instances()
	reached := s.reach(e2btest.Fault{Route: route, Skip: before, Hold: !carriedOut, Lose: carriedOut})
	run := c.start(k.arguments...)
	await(t, reached)
	run.kill()
	run.wait(cliLimit)
	s.heal()
	left = len(s.Left())
	now := c.instances()
	if len(now) != len(was) || len(now) > 0 && (now[0].Status != "" || now[0].Attributes["reference"] != was[0].Attributes["reference"]) {
		t.Fatalf("a killed run wrote state: %v, was %v", now, was)
	}
	if k.arguments[0] == "destroy" {
		c.destroyE2B(s)
		return left
	}
	c.converges(s)
	return left
}
