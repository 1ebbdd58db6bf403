package buildkit

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// AddressVariable names the environment variable that BuildKit's own tools read.
const AddressVariable = "BUILDKIT_HOST"

// Machine is what FindAddress asks of the machine it runs on; tests give their own.
type Machine struct {
	// Getenv reads an environment variable, "" when unset.
	Getenv func(name string) string
	// IsSocket tells whether a path is a Unix socket.
	IsSocket func(path string) bool
}

// FindAddress gives the daemon's address: the configured one, else BUILDKIT_HOST, else the first well-known socket
// of a rootful or rootless daemon that exists.
func FindAddress(configured string, machine Machine) (string, error) {
	if configured != "" {
		return configured, ValidateAddress(configured)
	}
	if address := machine.Getenv(AddressVariable); address != "" {
		return address, ValidateAddress(address)
	}
	sockets := []string{"/run/buildkit/buildkitd.sock"}
	if runtimeDir := machine.Getenv("XDG_RUNTIME_DIR"); runtimeDir != "" {
		sockets = append(sockets, runtimeDir+"/buildkit/buildkitd.sock")
	}
	for _, socket := range sockets {
		if machine.IsSocket(socket) {
			return "unix://" + socket, nil
		}
	}
	return "", &problem.Problem{
		Title:  "No BuildKit daemon is configured",
		Object: "looked at: provider buildkit.address (not set), " + AddressVariable + " (not set), " + strings.Join(sockets, ", ") + " (no socket)",
		Advice: `Set buildkit = { address = "tcp://host:port" } or "unix:///path/to/buildkitd.sock" in the provider block, or ` + AddressVariable + ".",
	}
}

// ValidateAddress checks the form of an address: unix:// with an absolute path, tcp:// with host and port, or one that a
// local program reaches (docker-container://, kube-pod://, ssh://).
func ValidateAddress(address string) error {
	fault := func(reason string) error {
		return &problem.Problem{Title: "Invalid BuildKit address", Object: fmt.Sprintf("%q", problem.Address(address)), Cause: errors.New(reason),
			Advice: `Write "unix:///run/buildkit/buildkitd.sock" or "tcp://buildkit.example.com:1234"; where their programs are at hand, also "docker-container://NAME", "kube-pod://POD" or "ssh://USER@HOST".`}
	}
	scheme, rest := problem.CutScheme(address)
	if scheme == "" {
		return fault("it has no scheme")
	}
	switch scheme {
	case "unix":
		if !strings.HasPrefix(rest, "/") {
			return fault("a unix:// address holds an absolute path, so it starts with three slashes")
		}
	case "tcp":
		parsed, err := url.Parse(address)
		if err != nil || parsed.User != nil || (parsed.Path != "" && parsed.Path != "/") || parsed.RawQuery != "" || parsed.Fragment != "" {
			return fault("a tcp:// address is host and port only")
		}
		if _, port, err := net.SplitHostPort(parsed.Host); err != nil || port == "" || parsed.Hostname() == "" {
			return fault("a tcp:// address needs host and port")
		} else if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return fault("a port is a number from 1 to 65535")
		}
	case "docker-container", "kube-pod", "ssh":
		if _, err := commandOf(address); err != nil {
			return fault(err.Error())
		}
	default:
		return fault(fmt.Sprintf("the scheme %q is not one of unix, tcp, docker-container, kube-pod, ssh", scheme))
	}
	return nil
}
