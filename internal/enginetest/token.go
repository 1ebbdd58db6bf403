package enginetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// TokenService gives bearer tokens for one login, by GET with Basic or by POST with a form, and takes them back at will.
// Its methods are safe for concurrent use.
type TokenService struct {
	mu             sync.Mutex
	user, password string
	lifetime       int
	generation     int
	given          int
	refused        int
}

// NewTokenService takes this login, and says of its tokens that they are good for five minutes. An empty user asks for
// the password as a refresh token, which Docker calls an identity token.
func NewTokenService(user, password string) *TokenService {
	return &TokenService{user: user, password: password, lifetime: 300}
}

// Login takes this login from now on, and no other.
func (s *TokenService) Login(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password = user, password
}

// Expire refuses all tokens given so far, though they were to be good for longer.
func (s *TokenService) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
}

// Lifetime is what the service says of the tokens that it gives from now on, in seconds.
func (s *TokenService) Lifetime(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetime = seconds
}

// Counts are how many tokens were given, and how many logins refused.
func (s *TokenService) Counts() (given, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given, s.refused
}

// Middleware asks for a token of the service, which answers at /token.
func (s *TokenService) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			s.give(w, r)
			return
		}
		sent := r.Header.Get("Authorization")
		if sent == "Bearer "+s.token() {
			next.ServeHTTP(w, r)
			return
		}
		challenge := `Bearer realm="http://` + r.Host + `/token",service="registry"`
		if scope := scopeOf(r); scope != "" {
			challenge += `,scope="` + scope + `"`
		}
		if sent != "" {
			challenge += `,error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	})
}

func (s *TokenService) token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("token-%d-of-the-test-registry", s.generation)
}

func (s *TokenService) give(w http.ResponseWriter, r *http.Request) {
	token := s.token()
	user, password, _ := r.BasicAuth()
	if r.Method == http.MethodPost {
		user, password = r.PostFormValue("username"), r.PostFormValue("password")
		if r.PostFormValue("grant_type") == "refresh_token" {
			user, password = "", r.PostFormValue("refresh_token")
		}
	}
	s.mu.Lock()
	welcome, lifetime := user == s.user && password == s.password, s.lifetime
	if welcome {
		s.given++
	} else {
		s.refused++
	}
	s.mu.Unlock()
	if !welcome {
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that hangs up early is its own problem.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"token": token, "access_token": token, "expires_in": lifetime, "issued_at": time.Now().UTC().Format(time.RFC3339),
	})
}

// TokenAuth asks for a bearer token, which /token gives to the one user.
func TokenAuth(user, password string) func(http.Handler) http.Handler {
	return NewTokenService(user, password).Middleware
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
