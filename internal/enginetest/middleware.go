package enginetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// BasicAuth lets in the users given (name → password), as far as allow agrees: 401 with a Basic challenge without or with
// a wrong login, 403 DENIED where allow refuses. A nil allow lets every user do all.
func BasicAuth(users map[string]string, allow func(user, method, path string) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			if want, known := users[user]; !ok || !known || want != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
				return
			}
			if allow != nil && !allow(user, r.Method, r.URL.Path) {
				refuse(w, http.StatusForbidden, "DENIED", "not authorized to perform this action")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// ImmutableTags refuses to put a tag that is there already, whatever it points to, as registries do whose tags cannot be
// overwritten.
func ImmutableTags(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, name, manifest := strings.Cut(r.URL.Path, "/manifests/")
		if r.Method != http.MethodPut || !manifest || strings.Contains(name, ":") {
			next.ServeHTTP(w, r)
			return
		}
		found := httptest.NewRecorder()
		look := r.Clone(r.Context())
		look.Method, look.Body, look.ContentLength = http.MethodHead, http.NoBody, 0
		look.Header = http.Header{"Accept": r.Header["Content-Type"]}
		if next.ServeHTTP(found, look); found.Code == http.StatusOK {
			refuse(w, http.StatusBadRequest, "TAG_INVALID", "the tag is immutable")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// FaultResponse is what Fault answers in the registry's place.
type FaultResponse struct {
	Status int
	Header http.Header
	Body   string
	// Cut resets the connection instead of answering.
	Cut bool
}

// Fault answers in the registry's place where choose gives a response; nil lets the request through.
// choose is called from several goroutines.
func Fault(choose func(r *http.Request) *FaultResponse) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fault := choose(r)
			switch {
			case fault == nil:
				next.ServeHTTP(w, r)
			case fault.Cut:
				panic(http.ErrAbortHandler)
			default:
				for name, values := range fault.Header {
					w.Header()[http.CanonicalHeaderKey(name)] = values
				}
				w.WriteHeader(fault.Status)
				_, _ = io.WriteString(w, fault.Body)
			}
		})
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
}
