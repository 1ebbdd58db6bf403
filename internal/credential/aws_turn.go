package credential

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// tries are the attempts to get what a state holds that failed.
type tries struct {
	count atomic.Uint64
	// last is written and read by whoever has the state's turn.
	last try
}

// try is an attempt that failed. session tells that it got no session, so that whoever needs one only fails too.
type try struct {
	failure error
	session bool
}

// ended notes a failure for those who wait meanwhile. What the end of ctx cut off is no answer to anybody else.
func (t *tries) ended(ctx context.Context, failed try) {
	if ctx.Err() != nil {
		return
	}
	t.last = failed
	t.count.Add(1)
}

// enter waits for the state's turn. missed is the attempt that failed while it was waited for: to ask the same again would
// have each of many wait for all before it, and AWS refuse each. Who comes later asks anew.
func (s *awsState) enter(ctx context.Context, host string, who Identity) (leave func(), missed try, err error) {
	before := s.tries.count.Load()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, try{}, notItsTurn(ctx, host, who)
	}
	if s.tries.count.Load() != before {
		missed = s.tries.last
	}
	return func() { <-s.turn }, missed, nil
}

// notItsTurn is a wait for others that ctx ended.
func notItsTurn(ctx context.Context, host string, who Identity) error {
	p := &problem.Problem{Title: "AWS credential for the registry was waited for in vain", Object: host + ", with " + profileName(who.Profile), Cause: ctx.Err()}
	if who.RoleARN != "" {
		p.Object = fmt.Sprintf("%s, for %s", who.RoleARN, host)
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		p.Advice = "Another resource was asking AWS for it all the time. Check that STS and ECR can be reached from here (aws.endpoints, HTTPS_PROXY), or give the operation more time (timeouts)."
	}
	return p
}
