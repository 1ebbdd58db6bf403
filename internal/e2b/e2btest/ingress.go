package e2btest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

const (
	envdPort        = "49983"
	interpreterPort = "49999"
)

var sandboxHost = lazyregexp.New(`^(\d+)-([a-z0-9]+)(?:-[a-z0-9]+)?\.`)

// sandboxTarget tells to which port of which sandbox a request goes: by its headers on a shared host, else by the host.
// Signed file addresses name neither on a shared host, so their path and signature tell.
func sandboxTarget(r *http.Request) (id, port string, inside bool) {
	id, port = r.Header.Get("E2b-Sandbox-Id"), r.Header.Get("E2b-Sandbox-Port")
	if id != "" || port != "" {
		if port == "" {
			port = envdPort
		}
		return id, port, true
	}
	if found := sandboxHost.FindStringSubmatch(r.Host); found != nil {
		return found[2], found[1], true
	}
	return "", "", false
}

// inside are the routes that answer at a port of a sandbox.
func inside(port string) []route {
	switch port {
	case envdPort:
		return envdRoutes
	case interpreterPort:
		return interpreterRoutes
	}
	return nil
}

var envdRoutes = []route{
	on("GET /health", entered(open, func(c *call, _ *sandbox) { c.bytes(http.StatusNoContent, nil) })),
	on("GET /envs", entered(withToken, func(c *call, box *sandbox) { c.json(http.StatusOK, orEmpty(box.env)) })),
	on("GET /metrics", entered(withToken, func(c *call, box *sandbox) {
		c.json(http.StatusOK, map[string]any{"ts": c.server.options.Now().Unix(), "cpu_count": box.build.cpu, "cpu_used_pct": 1.5, "mem_total": 1 << 30, "mem_used": 1 << 28})
	})),
	on("GET /files", entered(signed("read"), getFile)),
	on("POST /files", entered(signed("write"), postFile)),
	on("POST /process.Process/Start", entered(withToken, startProcess)),
	on("POST /process.Process/Connect", entered(withToken, connectProcess)),
	on("POST /process.Process/List", entered(withToken, listProcesses)),
	on("POST /process.Process/SendSignal", entered(withToken, signalProcess)),
	on("POST /process.Process/SendInput", entered(withToken, inputProcess)),
	on("POST /process.Process/CloseStdin", entered(withToken, inputProcess)),
	on("POST /filesystem.Filesystem/Stat", entered(withToken, statPath)),
	on("POST /filesystem.Filesystem/ListDir", entered(withToken, listDir)),
	on("POST /filesystem.Filesystem/MakeDir", entered(withToken, makeDir)),
	on("POST /filesystem.Filesystem/Move", entered(withToken, movePath)),
	on("POST /filesystem.Filesystem/Remove", entered(withToken, removePath)),
}

var interpreterRoutes = []route{
	on("GET /health", entered(open, func(c *call, _ *sandbox) { c.json(http.StatusOK, "OK") })),
	on("POST /execute", entered(open, execute)),
	on("GET /contexts", entered(open, listContexts)),
	on("POST /contexts", entered(open, createContext)),
	on("POST /contexts/{id}/restart", entered(open, restartContext)),
	on("DELETE /contexts/{id}", entered(open, deleteContext)),
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// entered finds the sandbox and lets a request in as E2B's proxy and then envd do.
func entered(allowed func(*call, *sandbox) bool, serve func(*call, *sandbox)) func(*call) {
	return func(c *call) {
		s := c.server
		s.mu.Lock()
		var box *sandbox
		for _, one := range s.living() {
			if one.id == c.path["sandbox"] && one.state == running {
				box = one
			}
		}
		s.mu.Unlock()
		if box == nil {
			c.json(http.StatusBadGateway, map[string]any{"sandboxId": c.path["sandbox"], "message": "The sandbox was not found", "code": 502})
			return
		}
		const header = "e2b-traffic-access-token"
		if given := c.r.Header.Get(header); box.closed && c.path["port"] != envdPort && given != box.traffic {
			message := "Sandbox is secured with traffic access token. Token header '" + header + "' is missing"
			if given != "" {
				message = "Sandbox is secured with traffic access token. Provided token is invalid"
			}
			c.json(http.StatusForbidden, map[string]any{"sandboxId": box.id, "message": message, "code": 403})
			return
		}
		if allowed(c, box) {
			serve(c, box)
		}
	}
}

// closedPort answers for a port at which nothing listens.
func closedPort(c *call, box *sandbox) {
	port, _ := strconv.Atoi(c.path["port"])
	c.json(http.StatusBadGateway, map[string]any{"sandboxId": box.id, "message": "The sandbox is running but port is not open", "port": port, "code": 502})
}

func open(*call, *sandbox) bool { return true }

// withToken lets in who brings envd's access token, if the sandbox has one.
func withToken(c *call, box *sandbox) bool {
	if box.token == "" || c.r.Header.Get("X-Access-Token") == box.token {
		return true
	}
	c.fail(http.StatusUnauthorized, "unauthorized access, please provide a valid access token or method signing if supported")
	return false
}

// signed lets in who brings the token, or a signature of path, user and operation made with it.
func signed(operation string) func(*call, *sandbox) bool {
	return func(c *call, box *sandbox) bool {
		query := c.r.URL.Query()
		given := query.Get("signature")
		if given == "" {
			return withToken(c, box)
		}
		text := fmt.Sprintf("%s:%s:%s:%s", query.Get("path"), operation, query.Get("username"), box.token)
		if ends := query.Get("signature_expiration"); ends != "" {
			text += ":" + ends
			if at, err := strconv.ParseInt(ends, 10, 64); err != nil || at < c.server.options.Now().Unix() {
				c.fail(http.StatusUnauthorized, "signature is already expired")
				return false
			}
		}
		if given != "v1_"+rawBase64(text) {
			c.fail(http.StatusUnauthorized, "invalid signature")
			return false
		}
		return true
	}
}
