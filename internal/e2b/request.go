package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/retry"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	// maxBody bounds what is read of one answer: the largest is a list of 100 templates, far below it.
	maxBody = 32 << 20
	// requestTimeout bounds one attempt, as E2B's own SDKs do, beside a second for each slowest bytes that are sent.
	requestTimeout, slowest = 60 * time.Second, 64 << 10
	// slotPause is about the first pause of a create that waits for another build of the team to end, and slotPauseMax the longest.
	slotPause, slotPauseMax = 5 * time.Second, 30 * time.Second
)

// call is one request to the control plane, or to base if that is set.
type call struct {
	method string
	// path is escaped already.
	path  string
	query url.Values
	base  *url.URL
	// header is added to the common one; no key is sent if base is set.
	header http.Header
	// json is sent if not nil, and raw as it is.
	json any
	raw  []byte
	// into takes the answer's JSON if not nil; check judges an answer, and one that it refuses is asked for again.
	into  any
	check func(*answer) error
	// changes says that repeating the request may do more than making it once.
	changes bool
	// slot says that a 429 that names no time means a full team: it is waited for until the context ends.
	slot bool
	// hide are secrets beyond the key that the answer may repeat.
	hide []secret.Value
	// object is how an error shows the path, if not as it is.
	object string
	api    string
	bare   bool // Options.FromEnvironment
}

func (k call) shown() string {
	if k.object != "" {
		return k.object
	}
	return k.path
}

func (k call) host() string { return k.api }

// answer is a 2xx response, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes the request, with retries where repeating it is safe. Any answer but 2xx is an *Error.
func (c *Client) send(ctx context.Context, k call) (*answer, error) {
	if k.base == nil && c.key.Empty() {
		return nil, &problem.Problem{Title: "No E2B API key", Object: k.method + " " + k.shown(),
			Advice: "Set api_key in the provider's e2b settings or E2B_API_KEY. A key is made in the team's settings at https://e2b.dev/dashboard."}
	}
	k.api, k.bare = c.api.Host, c.bare
	if k.base != nil {
		k.api = k.base.Host
	}
	if k.json != nil {
		body, err := json.Marshal(k.json)
		if err != nil {
			return nil, k.failed(err)
		}
		k.raw = body
	}
	var before *Error
	for attempt, slots := 1, 0; ; {
		got, failed := c.once(ctx, k)
		if failed == nil {
			return got, nil
		}
		if before != nil && !k.changes && failed.Status == 0 && ctx.Err() != nil {
			// Time ran out while it was asked again: what came before says more.
			before.Cause = errors.Join(before.Cause, failed.Cause)
			return nil, before
		}
		before = failed
		wait, ends := c.retry.Pause(ctx, attempt, failed.retryAfter)
		again := ends == nil
		switch {
		case k.slot && failed.Status == http.StatusTooManyRequests && failed.retryAfter == 0:
			wait, again = retry.Jitter(min(slotPause<<min(slots, 8), slotPauseMax)), ctx.Err() == nil
			slots++
			c.logger.InfoContext(ctx, "E2B has no free slot, waiting for one", "answer", failed.Message, "wait", wait)
		case !k.repeatable(failed):
			again = false
		default:
			failed.Because(ends)
			attempt++
		}
		if !again {
			if ended := ctx.Err(); ended != nil && !errors.Is(failed.Cause, ended) {
				failed.Cause = errors.Join(failed.Cause, ended)
			}
			return nil, failed
		}
		c.logger.DebugContext(ctx, "E2B request is repeated", "error", failed.Error(), "wait", wait)
		retry.Tell(ctx, c.logger, k.host(), failed.retryAfter, wait)
		if err := c.retry.Sleep(ctx, wait); err != nil {
			failed.Cause = errors.Join(failed.Cause, err)
			return nil, failed
		}
	}
}

// repeatable tells whether a request that failed may be made again.
func (k call) repeatable(failed *Error) bool {
	if k.changes {
		return failed.Status == http.StatusTooManyRequests || failed.Unsent() && Transient(failed)
	}
	return Transient(failed)
}

func (c *Client) once(ctx context.Context, k call) (*answer, *Error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout+time.Duration(len(k.raw)/slowest)*time.Second)
	defer cancel()
	response, failed := c.open(ctx, k)
	if failed != nil {
		return nil, failed
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, k.spoiled(response.StatusCode, fmt.Errorf("the answer was cut short: %w", err))
	case len(content) > maxBody:
		return nil, k.failed(retry.Final(fmt.Errorf("the answer is larger than %d bytes", maxBody)))
	case k.base == nil && isHTML(response):
		return nil, k.spoiled(response.StatusCode, errors.New(htmlPage))
	case k.into != nil:
		if err := json.Unmarshal(content, k.into); err != nil {
			return nil, k.spoiled(response.StatusCode, fmt.Errorf("the answer is not the JSON that it should be: %w", err))
		}
	}
	got := &answer{status: response.StatusCode, header: response.Header, body: content}
	if k.check != nil {
		if err := k.check(got); err != nil {
			return nil, k.spoiled(response.StatusCode, fmt.Errorf("the answer is not the JSON that it should be: %w", err))
		}
	}
	return got, nil
}

// open makes the request once and gives a 2xx response, whose body the caller reads and closes.
func (c *Client) open(ctx context.Context, k call) (*http.Response, *Error) {
	base := c.api
	if k.base != nil {
		base = k.base
	}
	address := base.String() + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	var body io.Reader
	if k.raw != nil {
		body = bytes.NewReader(k.raw)
	}
	request, err := http.NewRequestWithContext(ctx, k.method, address, body)
	if err != nil {
		return nil, k.failed(retry.Final(errors.New("the address of the request cannot be read")))
	}
	for name, values := range k.header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", c.userAgent)
	if k.json != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if k.base == nil {
		request.Header.Set("X-API-Key", c.key.Reveal())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, k.unanswered(err)
	}
	c.logger.DebugContext(ctx, "E2B request", "method", k.method, "path", k.shown(), "status", response.StatusCode)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		content, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		return nil, k.refused(response, content, secret.NewMasker(append([]secret.Value{c.key}, k.hide...)...))
	}
	return response, nil
}

// paged asks for page after page of a list, as X-Next-Token says, until take wants no more. What take refuses is asked
// for again, so it keeps nothing of that.
func (c *Client) paged(ctx context.Context, k call, take func(*answer) (more bool, err error)) error {
	if k.query == nil {
		k.query = url.Values{}
	}
	k.query.Set("limit", "100")
	more := false
	k.check = func(got *answer) (err error) {
		more, err = take(got)
		return err
	}
	for seen := map[string]bool{}; ; {
		got, err := c.send(ctx, k)
		if err != nil {
			return err
		}
		next := got.header.Get("X-Next-Token")
		if !more || next == "" {
			return nil
		}
		if seen[next] {
			return k.failed(retry.Final(errors.New("the list does not end: a page names itself as the next")))
		}
		seen[next] = true
		k.query.Set("nextToken", next)
	}
}

// pages reads all pages of a list.
func pages[T any](ctx context.Context, c *Client, k call) ([]T, error) {
	var all []T
	err := c.paged(ctx, k, func(got *answer) (bool, error) {
		var page []T
		if err := json.Unmarshal(got.body, &page); err != nil {
			return false, err
		}
		all = append(all, page...)
		return true, nil
	})
	return all, err
}
