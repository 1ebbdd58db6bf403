package credential_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/credential"
	"github.com/datalayer/terraform-provider-datalayer/internal/credential/leasetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	until = noon.Add(time.Hour)
)

// kept is a keeper at a service of its own, and the lease that it keeps.
type kept struct {
	*leasetest.Server
	client leasetest.Client
	keeper *credential.Keeper
	lease  *credential.Lease
	now    time.Time
	slept  time.Duration
}

func newKept(t *testing.T, middleware ...func(http.Handler) http.Handler) *kept {
	k := &kept{Server: leasetest.Start(t, middleware...), now: noon}
	k.client = leasetest.Client{URL: k.URL}
	k.keeper = &credential.Keeper{Store: k.client, Now: func() time.Time { return k.now }, Sleep: func(ctx context.Context, d time.Duration) error {
		k.slept += d
		return ctx.Err()
	}}
	k.lease = &credential.Lease{Host: "r.example", Login: image.Credential{Username: "AWS", Password: secret.New("cnry-lease-1")}, ExpiresAt: noon.Add(12 * time.Hour)}
	return k
}

func (k *kept) keep(ctx context.Context) (id string, warnings problem.List, err error) {
	return k.keeper.Keep(ctx, k.lease, credential.Deposit{Purpose: "registry", Until: until, Create: func(ctx context.Context, name string) (string, error) {
		return k.client.CreateCredential(ctx, name, k.lease.Login)
	}})
}

func (k *kept) mustKeep(t *testing.T) string {
	t.Helper()
	id, warnings, err := k.keep(t.Context())
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return id
}

func (k *kept) count(request string) int {
	return len(slices.DeleteFunc(k.Requests(), func(r string) bool { return !strings.HasPrefix(r, request) }))
}

func TestAKeptCredentialIsMarkedAndTakenBack(t *testing.T) {
	k := newKept(t)
	if id := k.mustKeep(t); id != "c-1" {
		t.Errorf("id %q", id)
	}
	names := k.Credentials()
	if len(names) != 1 || names[0] != k.lease.ID {
		t.Fatalf("stored %v, lease %q", names, k.lease.ID)
	}
	marker, ours := credential.ParseMarker(names[0])
	if !ours || marker.Purpose != "registry" || !marker.ExpiresAt.Equal(until.Add(5*time.Minute)) {
		t.Errorf("marker %v, %t: it ends with the operation and a margin", marker, ours)
	}
	for range 2 {
		if err := k.lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := k.Credentials(); len(left) > 0 || k.count("DELETE") != 1 {
		t.Errorf("left %v after %v", left, k.Requests())
	}
}

func TestReleaseWorksAfterACancelAndWaitsForASlowDelete(t *testing.T) {
	k := newKept(t)
	k.mustKeep(t)
	k.SlowDelete(5)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.lease.Release(cancelled); err != nil {
		t.Fatal(err)
	}
	if left := k.Credentials(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestReleaseEndsWithinItsLimit(t *testing.T) {
	k := newKept(t)
	k.mustKeep(t)
	k.SlowDelete(1 << 30)
	k.keeper.Limit = 50 * time.Millisecond
	err := k.lease.Release(t.Context())
	unreleased(t, err, "Leasetest c-1 ("+k.lease.ID+")", "Leasetest did not do it within 50ms", "It works until 2026-12-01T00:00:00Z",
		"From 2026-11-30T13:05:00Z on the next build there, or `sweep` of the provider's program, removes it",
		"curl -X DELETE "+k.URL+"/credentials/c-1")
}

// unreleased checks the error of a credential that stayed: no secret, and all of these texts.
func unreleased(t *testing.T, err error, texts ...string) credential.Pending {
	t.Helper()
	var u *credential.Unreleased
	if !errors.As(err, &u) {
		t.Fatalf("got %v, want an Unreleased", err)
	}
	said := problem.From(err, "")[0].Error() + problem.From(err, "")[0].Detail()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not in %s", text, said)
		}
	}
	if strings.Contains(said+fmt.Sprintf("%+v", u.Pending), "cnry") {
		t.Errorf("the secret is in %s", said)
	}
	return u.Pending
}

func TestAFailedReleaseIsSettledLater(t *testing.T) {
	k := newKept(t)
	k.mustKeep(t)
	k.FailDeletes(-1)
	pending := unreleased(t, k.lease.Release(t.Context()), "answered 500: the vault is closed", "To remove it now:")
	other := credential.Pending{Service: "Elsewhere", ID: "x", Name: "y"}
	left, problems := k.keeper.Settle(t.Context(), []credential.Pending{other, pending})
	if len(left) != 2 || len(problems) != 1 || problems[0].Title != "Credential c-1 was not removed from Leasetest" {
		t.Fatalf("left %v, problems %v", left, problems)
	}
	k.FailDeletes(0)
	if left, problems = k.keeper.Settle(t.Context(), left); len(left) != 1 || left[0] != other || len(problems) > 0 {
		t.Errorf("left %v, problems %v", left, problems)
	}
	// Again, as after a plan, which cannot write down that it is done.
	if left, problems = k.keeper.Settle(t.Context(), []credential.Pending{pending}); len(left)+len(problems) > 0 {
		t.Errorf("left %v, problems %v", left, problems)
	}
	if len(k.Credentials()) > 0 {
		t.Errorf("stored %v", k.Credentials())
	}
}

func TestALostAnswerIsLookedFor(t *testing.T) {
	k := newKept(t)
	k.Put("dl-registry-20261130t220000z-00000000")
	k.LoseAnswer("POST /credentials")
	if id := k.mustKeep(t); id != "c-2" {
		t.Errorf("adopted %q", id)
	}
	if err := k.lease.Release(t.Context()); err != nil || k.count("POST") != 1 || len(k.Credentials()) != 1 {
		t.Errorf("%v, %v, stored %v", err, k.Requests(), k.Credentials())
	}
}

func TestARefusedCredentialIsAnError(t *testing.T) {
	k := newKept(t)
	k.lease.Login = image.Credential{}
	_, _, err := k.keep(t.Context())
	var u *credential.Unreleased
	if err == nil || errors.As(err, &u) || !strings.Contains(err.Error(), "answered 400: name and password are required") {
		t.Errorf("got %v", err)
	}
	if err := k.lease.Release(t.Context()); err != nil || k.count("DELETE") > 0 || k.slept > 0 {
		t.Errorf("%v, %v, looked for %s", err, k.Requests(), k.slept)
	}
}

// The service stores slowly, and is given up on meanwhile: what lands after the first look is removed all the same, and
// what lands after the last is pending by its name.
func TestACredentialThatIsStillBeingStoredIsNotForgotten(t *testing.T) {
	for name, tt := range map[string]struct {
		looks  int // after which it lands
		cancel bool
		lost   error
	}{
		"soon, after a cancel":    {2, true, context.Canceled},
		"late, after a cancel":    {100, true, context.Canceled},
		"soon, without an answer": {2, false, io.ErrUnexpectedEOF},
		"late, without an answer": {100, false, io.ErrUnexpectedEOF},
		"late, after a gateway":   {100, false, &image.Error{Failure: retry.Failure{Status: http.StatusBadGateway}}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var k *kept
			lists := 0
			storing := ""
			k = newKept(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet && storing != "" {
						if lists++; lists > tt.looks {
							k.Put(storing)
							storing = ""
						}
					}
					next.ServeHTTP(w, r)
				})
			})
			id, _, err := k.keeper.Keep(ctx, k.lease, credential.Deposit{Purpose: "registry", Until: until, Create: func(_ context.Context, name string) (string, error) {
				storing = name
				if tt.cancel {
					cancel()
				}
				return "", fmt.Errorf("POST /credentials: %w", tt.lost)
			}})
			switch {
			case tt.looks > 2:
				pending := unreleased(t, err, "Whether Leasetest keeps it is not known", "does not list it yet", "removes it")
				if pending.ID != "" || pending.Name != storing || k.slept < 3*time.Second || k.slept > 10*time.Second {
					t.Errorf("pending %v after %s", pending, k.slept)
				}
				k.Put(storing)
				storing = ""
				if left, problems := k.keeper.Settle(t.Context(), []credential.Pending{pending}); len(left)+len(problems)+len(k.Credentials()) > 0 {
					t.Errorf("left %v, problems %v, stored %v", left, problems, k.Credentials())
				}
			case tt.cancel:
				if !errors.Is(err, context.Canceled) || len(k.Credentials()) > 0 || k.count("DELETE") != 1 {
					t.Errorf("%v, stored %v after %v", err, k.Credentials(), k.Requests())
				}
			default:
				if err != nil || id != "c-1" {
					t.Errorf("%q, %v", id, err)
				}
			}
		})
	}
}

// A service that was not reached, or that refused, keeps nothing.
func TestWhatSurelyWasNotStoredIsNotLookedForTwice(t *testing.T) {
	for name, failure := range map[string]error{
		"not reached": &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		"refused":     &image.Error{Failure: retry.Failure{Status: http.StatusForbidden}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKept(t)
			_, _, err := k.keeper.Keep(t.Context(), k.lease, credential.Deposit{Purpose: "registry", Until: until, Create: func(context.Context, string) (string, error) { return "", fmt.Errorf("POST: %w", failure) }})
			var u *credential.Unreleased
			if err == nil || errors.As(err, &u) || k.slept > 0 {
				t.Errorf("looked for %s: %v", k.slept, err)
			}
		})
	}
}

// The answer is lost to a cancel, and what landed is removed.
func TestACancelledCredentialIsRemoved(t *testing.T) {
	for name, failing := range map[string]int{"removed": 0, "not removed": -1} {
		t.Run(name, func(t *testing.T) {
			cancelled, cancel := context.WithCancel(t.Context())
			k := newKept(t)
			k.FailDeletes(failing)
			_, _, err := k.keeper.Keep(cancelled, k.lease, credential.Deposit{Purpose: "registry", Until: until, Create: func(ctx context.Context, name string) (string, error) {
				_, err := k.client.CreateCredential(ctx, name, k.lease.Login)
				cancel()
				return "", errors.Join(err, ctx.Err())
			}})
			if !errors.Is(err, context.Canceled) && failing == 0 {
				t.Errorf("got %v", err)
			}
			if failing == 0 {
				if left := k.Credentials(); len(left) > 0 {
					t.Errorf("left %v", left)
				}
				return
			}
			if pending := unreleased(t, err, "It is stored all the same, and was not removed", "the vault is closed"); pending.ID != "c-1" {
				t.Errorf("pending %v", pending)
			}
		})
	}
}

// Neither the answer nor the list is to be had, so that the name is all that is known.
func TestAnUnknownCredentialIsPendingByItsName(t *testing.T) {
	lists := 0
	k := newKept(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path == "/credentials" {
				if lists++; lists > 1 && lists < 5 {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	k.LoseAnswer("POST /credentials")
	_, _, err := k.keep(t.Context())
	pending := unreleased(t, err, "Whether Leasetest keeps it is not known", "answered 502", "removes it")
	if pending.ID != "" || len(k.Credentials()) != 1 || pending.Name != k.Credentials()[0] {
		t.Fatalf("pending %v, stored %v", pending, k.Credentials())
	}
	if left, problems := k.keeper.Settle(t.Context(), []credential.Pending{pending}); len(left)+len(problems)+len(k.Credentials()) > 0 {
		t.Errorf("left %v, problems %v, stored %v", left, problems, k.Credentials())
	}
}

// What is pending by its name is looked for, found, and cannot be removed: from then on its id is known.
func TestAPendingCredentialThatIsFoundGetsItsID(t *testing.T) {
	k := newKept(t)
	name := credential.NewMarker("registry", until).String()
	k.Put(name)
	k.FailDeletes(-1)
	left, problems := k.keeper.Settle(t.Context(), []credential.Pending{{Service: "Leasetest", Name: name}})
	if want := (credential.Pending{Service: "Leasetest", ID: "c-1", Name: name}); len(left) != 1 || left[0] != want {
		t.Errorf("left %v, want %v", left, want)
	}
	if len(problems) != 1 || problems[0].Title != "Credential c-1 was not removed from Leasetest" || !strings.Contains(problems[0].Detail(), "curl -X DELETE "+k.URL+"/credentials/c-1") {
		t.Errorf("got %v", problems)
	}
}

func TestOnlyOurExpiredCredentialsArePurged(t *testing.T) {
	k := newKept(t)
	expired := credential.NewMarker("registry", noon.Add(-time.Second)).String()
	others := []string{
		"somebody's", credential.NewMarker("registry", noon).String(), credential.NewMarker("registry", noon.Add(time.Hour)).String(),
		"dl-registry-20200101t000000z-nonsense",
	}
	for _, name := range append([]string{expired}, others...) {
		k.Put(name)
	}
	k.mustKeep(t)
	if err := k.lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := k.Credentials(); !slices.Equal(left, others) {
		t.Errorf("left %v, want %v", left, others)
	}
}

func TestAFailedPurgeIsAWarning(t *testing.T) {
	k := newKept(t)
	expired := k.Put(credential.NewMarker("registry", noon.Add(-time.Hour)).String())
	k.FailDeletes(3)
	_, warnings, err := k.keep(t.Context())
	if err != nil || len(warnings) != 1 || warnings[0].Title != "Expired credential c-1 was not removed from Leasetest" || !strings.Contains(warnings[0].Detail(), "/credentials/"+expired) {
		t.Errorf("%v, %v", warnings, err)
	}
	refused := newKept(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, warnings, err = refused.keep(t.Context())
	if err != nil || len(warnings) != 1 || warnings[0].Title != "Expired credentials were not looked for" {
		t.Errorf("%v, %v", warnings, err)
	}
}

func TestNothingIsStoredAfterACancel(t *testing.T) {
	k := newKept(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, warnings, err := k.keep(cancelled)
	if !errors.Is(err, context.Canceled) || len(warnings) > 0 || k.count("POST") > 0 {
		t.Errorf("%v, %v, %v", err, warnings, k.Requests())
	}
}
