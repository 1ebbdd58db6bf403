package resolve_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

// The daemon must not answer a lock with the step of another that runs at the same time and has another login.
func TestRemote_IsResolvedWithItsOwnLogin(t *testing.T) {
	one, other := newRemote(t), newRemote(t)
	other.index = one.index
	right := make(chan struct{})
	come := sync.OnceFunc(func() { close(right) })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch _, password, given := r.BasicAuth(); {
		case given && password == enginetest.IndexPassword:
			come()
		case given:
			select {
			case <-right:
			case <-time.After(time.Minute):
				t.Error("nobody asks with the right password while the wrong one is asked with")
			}
		}
		one.index.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	address, err := url.Parse(front.URL + "/simple/")
	if err != nil {
		t.Fatal(err)
	}
	wrong, own := one.request(t, "private-tool"), other.request(t, "private-tool")
	wrong.Index.URL, own.Index.URL = address, address
	wrong.Index.Password = secret.New("cnry-wrong-password")
	refused := make(chan error, 1)
	go func() {
		_, err := one.Resolve(t.Context(), wrong)
		refused <- err
	}()
	result, err := other.Resolve(t.Context(), own)
	if err != nil {
		t.Errorf("with the right password: %v", err)
	} else if got := result.Lock.Requirements(); len(got) != 1 {
		t.Errorf("the lock holds %v", got)
	}
	if err := <-refused; err == nil {
		t.Error("a wrong password resolves")
	}
}
