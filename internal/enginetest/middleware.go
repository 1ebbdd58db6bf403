package enginetest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
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

// TokenAuth asks for a bearer token, which /token gives to the one user, by GET with Basic or by POST with a form.
func TokenAuth(user, password string) func(http.Handler) http.Handler {
	const token = "token-of-the-test-registry"
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				gotUser, gotPassword, _ := r.BasicAuth()
				if r.Method == http.MethodPost {
					gotUser, gotPassword = r.PostFormValue("username"), r.PostFormValue("password")
				}
				if gotUser != user || gotPassword != password {
					refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
					return
				}
				w.Header().Set("Content-Type", "application/json")
				// A client that hangs up early is its own problem.
				_ = json.NewEncoder(w).Encode(map[string]any{
					"token": token, "access_token": token, "expires_in": 300,
					"issued_at": time.Now().UTC().Format(time.RFC3339),
				})
				return
			}
			if r.Header.Get("Authorization") != "Bearer "+token {
				challenge := `Bearer realm="http://` + r.Host + `/token",service="registry"`
				if scope := scopeOf(r); scope != "" {
					challenge += `,scope="` + scope + `"`
				}
				w.Header().Set("WWW-Authenticate", challenge)
				refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// scopeOf names what a request needs, as distribution's token authentication does.
func scopeOf(r *http.Request) string {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	for _, part := range []string{"/manifests/", "/blobs/", "/tags/"} {
		repository, _, ok := strings.Cut(path, part)
		if !ok {
			continue
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			return "repository:" + repository + ":pull"
		case http.MethodDelete:
			return "repository:" + repository + ":delete"
		default:
			return "repository:" + repository + ":pull,push"
		}
	}
	return ""
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
