package e2btest

import (
	"net/http"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// control are the routes of the control plane, and of the store that files are uploaded to.
func (s *Server) control() []route {
	routes := []route{
		on("GET /health", func(c *call) { c.bytes(http.StatusOK, []byte("Health check successful")) }),
		on("PUT /upload/{team}/{hash}", s.putFiles),
		on("POST /v3/templates", s.keyed(s.createBuild)),
		on("GET /v2/templates", s.keyed(s.pageTemplates)),
		on("GET /templates", s.keyed(s.listTemplates)),
		on("POST /templates/tags", s.keyed(s.assignTags)),
		on("DELETE /templates/tags", s.keyed(s.removeTags)),
		on("GET /templates/aliases/{alias}", s.keyed(s.getAlias)),
		on("GET /templates/{templateID}", s.keyed(s.getTemplate)),
		on("DELETE /templates/{templateID}", s.keyed(s.deleteTemplate)),
		on("PATCH /v2/templates/{templateID}", s.keyed(s.patchTemplate)),
		on("GET /templates/{templateID}/tags", s.keyed(s.listTags)),
		on("GET /templates/{templateID}/files/{hash}", s.keyed(s.getFiles)),
		on("POST /v2/templates/{templateID}/builds/{buildID}", s.keyed(s.startBuild)),
		on("GET /templates/{templateID}/builds/{buildID}/status", s.keyed(s.getStatus)),
		on("GET /templates/{templateID}/builds/{buildID}/logs", s.keyed(s.getLogs)),
		on("POST /sandboxes", s.keyed(s.createSandbox(1))),
		on("GET /sandboxes", s.keyed(s.listSandboxes)),
		on("GET /v2/sandboxes", s.keyed(s.pageSandboxes)),
		on("GET /sandboxes/{sandboxID}", s.keyed(s.getSandbox)),
		on("DELETE /sandboxes/{sandboxID}", s.keyed(s.killSandbox)),
		on("POST /sandboxes/{sandboxID}/timeout", s.keyed(s.setTimeout)),
		on("POST /sandboxes/{sandboxID}/refreshes", s.keyed(s.refresh)),
		on("POST /sandboxes/{sandboxID}/pause", s.keyed(s.pauseSandbox)),
		on("POST /sandboxes/{sandboxID}/connect", s.keyed(s.connectSandbox)),
		on("POST /sandboxes/{sandboxID}/resume", s.keyed(s.connectSandbox)),
		on("GET /sandboxes/{sandboxID}/metrics", s.keyed(s.sandboxMetrics)),
		on("GET /sandboxes/{sandboxID}/logs", s.keyed(s.sandboxLogs)),
		on("GET /v2/sandboxes/{sandboxID}/logs", s.keyed(s.sandboxLogs)),
	}
	if !s.options.Legacy {
		routes = append(routes, on("POST /v2/sandboxes", s.keyed(s.createSandbox(2))), on("POST /v2/sandboxes/{sandboxID}/connect", s.keyed(s.connectSandbox)))
	}
	return routes
}

var keyRule = lazyregexp.New(`^[0-9a-f]+$`)

// keyed lets a request pass that brings a team's API key, in E2B's order of checks and with its words.
func (s *Server) keyed(serve func(*call)) func(*call) {
	const unknown = "Invalid API key, please visit https://e2b.dev/docs/api-key for more information.\n"
	return func(c *call) {
		key := c.r.Header.Get("X-API-Key")
		digits, prefixed := strings.CutPrefix(key, "e2b_")
		known := s.teams[key]
		switch {
		case key == "":
			c.fail(http.StatusUnauthorized, "authorization header is missing")
		case !prefixed:
			c.fail(http.StatusUnauthorized, "authorization header is malformed")
		case !keyRule.MatchString(digits):
			c.fail(http.StatusUnauthorized, "%s", unknown+"Invalid API key format")
		case known == nil:
			c.fail(http.StatusUnauthorized, "%s", unknown+"Cannot get the team for the given API key")
		case known.Banned:
			c.fail(http.StatusForbidden, "team is banned")
		case known.Blocked && c.r.Method != http.MethodGet && c.r.Method != http.MethodDelete:
			c.fail(http.StatusForbidden, "team is blocked")
		default:
			c.team = known
			serve(c)
		}
	}
}
