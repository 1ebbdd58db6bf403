package credential

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// queueing is a context that tells when somebody waits on it.
type queueing struct {
	context.Context
	waits func()
}

func (q queueing) Done() <-chan struct{} {
	q.waits()
	return q.Context.Done()
}

// queue has others ask too while the first request for a role is under way, and gives what each of all was told.
func (c *cloud) queue(leader context.Context, source *AWS, others int, ask func(ctx context.Context, r *Resolver) error) []error {
	r := NewResolver(nil).WithAWS(source).Using(ecrHost, Grant{"team/env", []Action{Pull}})
	said := make([]error, others+1)
	var first sync.Once
	var all sync.WaitGroup
	refuse := c.Choose
	c.Choose = func(call awstest.Call, request *http.Request) *enginetest.FaultResponse {
		if call.Operation == "AssumeRole" {
			first.Do(func() {
				var waiting sync.WaitGroup
				waiting.Add(others)
				for i := range others {
					ctx := queueing{c.t.Context(), sync.OnceFunc(waiting.Done)}
					all.Go(func() { said[i+1] = ask(ctx, r) })
				}
				waiting.Wait()
			})
		}
		if refuse == nil {
			return nil
		}
		return refuse(call, request)
	}
	said[0] = ask(leader, r)
	all.Wait()
	c.Choose = refuse
	return said
}

func askLogin(ctx context.Context, r *Resolver) error {
	_, err := r.Credential(ctx, ecrHost)
	return err
}

func askSession(ctx context.Context, r *Resolver) error {
	_, _, _, err := r.Session(ctx, ecrHost)
	return err
}

// A role that is refused is refused to all who asked meanwhile, after one wait for it, and asked for anew by who comes later.
func TestOneRefusalIsForAllWhoWaitedForIt(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Resolver) error{"login": askLogin, "session": askSession} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			source := c.source(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{Trusts: []string{"nobody"}})}})
			began := c.clock.Now()
			for i, err := range c.queue(t.Context(), source, 9, ask) {
				if p := asProblem(t, err); p.Title != "AWS role for the registry cannot be assumed" || !strings.Contains(p.Detail(), "AccessDenied") || !strings.Contains(p.Detail(), ecrHost) {
					t.Errorf("caller %d: %s", i, p.Detail())
				}
			}
			if calls, waited := len(c.Calls("AssumeRole")), c.clock.Now().Sub(began); calls != 5 || waited > visibleWithin {
				t.Errorf("the role was asked for %d times within %s", calls, waited)
			}
			c.roleFor(awstest.Role{})
			if err := ask(t.Context(), NewResolver(nil).WithAWS(source).Using(ecrHost, Grant{"team/env", []Action{Pull}})); err != nil {
				t.Errorf("later: %v", err)
			}
		})
	}
}

// A login token that is refused is no answer to who needs a session alone.
func TestARefusedTokenIsForWhoNeedsOne(t *testing.T) {
	c := newCloud(t)
	c.Choose = func(call awstest.Call, _ *http.Request) *enginetest.FaultResponse {
		if call.Operation != "GetAuthorizationToken" {
			return nil
		}
		return &enginetest.FaultResponse{Status: http.StatusForbidden, Body: "blocked"}
	}
	source := c.source(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}})
	asked := 0
	var mu sync.Mutex
	said := c.queue(t.Context(), source, 4, func(ctx context.Context, r *Resolver) error {
		mu.Lock()
		asked++
		alone := asked%2 == 0
		mu.Unlock()
		if !alone {
			if err := askLogin(ctx, r); err == nil || !strings.Contains(err.Error(), "blocked") {
				t.Errorf("a login: %v", err)
			}
			return nil
		}
		return askSession(ctx, r)
	})
	if err := errors.Join(said...); err != nil {
		t.Error(err)
	}
	if sessions, tokens := len(c.Calls("AssumeRole")), len(c.Calls("GetAuthorizationToken")); sessions != 1 || tokens != 1 {
		t.Errorf("%d sessions and %d tokens were asked for", sessions, tokens)
	}
}

// What one caller's end has cut off is no answer to the others.
func TestACancelIsNotShared(t *testing.T) {
	c := newCloud(t)
	source := c.source(AWSOptions{Default: &Identity{RoleARN: c.roleFor(awstest.Role{})}})
	leader, cancel := context.WithCancel(t.Context())
	var first sync.Once
	c.Choose = func(awstest.Call, *http.Request) *enginetest.FaultResponse {
		var answer *enginetest.FaultResponse
		first.Do(func() {
			cancel()
			answer = &enginetest.FaultResponse{Status: http.StatusInternalServerError}
		})
		return answer
	}
	for i, err := range c.queue(leader, source, 3, askLogin) {
		if (i == 0) != errors.Is(err, context.Canceled) || i > 0 && err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
}

// Who waits in vain is told for what.
func TestAnEndOfTheWaitNamesHostAndRole(t *testing.T) {
	c := newCloud(t)
	role := c.roleFor(awstest.Role{})
	source := c.source(AWSOptions{Default: &Identity{RoleARN: role}})
	for name, tt := range map[string]struct {
		ask func(context.Context, *Resolver) error
		end time.Duration
	}{"login": {askLogin, time.Millisecond}, "session": {askSession, time.Millisecond}, "cancelled": {askLogin, 0}} {
		t.Run(name, func(t *testing.T) {
			r := NewResolver(nil).WithAWS(source).Using(ecrHost, Grant{"team/env", []Action{Pull}})
			who, at, _ := source.identity(ecrHost, Identity{})
			state, _, err := source.state(who, at, r.uses[ecrHost].grants)
			must(t, err)
			state.turn <- struct{}{}
			defer func() { <-state.turn }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if tt.end > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), tt.end)
			} else {
				cancel()
			}
			defer cancel()
			err = tt.ask(ctx, r)
			p := asProblem(t, err)
			if !errors.Is(err, ctx.Err()) || !strings.Contains(p.Detail(), role) || !strings.Contains(p.Detail(), ecrHost) || (tt.end == 0) != (p.Advice == "") {
				t.Errorf("got %q: %s", p.Title, p.Detail())
			}
		})
	}
}
