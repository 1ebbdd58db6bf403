package buildkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// commandOf gives the command that an address names, as buildctl would start it: a program on this machine whose input and
// output are a connection to the daemon. It is nil for an address that names none.
func commandOf(address string) ([]string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		// The error would repeat the address, in which there may be a password.
		return nil, errors.New("it cannot be read as a URL")
	}
	query := parsed.Query()
	flag := func(name string) []string {
		if query.Get(name) == "" {
			return nil
		}
		return []string{"--" + name + "=" + query.Get(name)}
	}
	dial := []string{"buildctl", "dial-stdio"}
	switch parsed.Scheme {
	case "docker-container":
		if err := plainHost(parsed, "context"); err != nil {
			return nil, err
		}
		return slices.Concat([]string{"docker"}, flag("context"), []string{"exec", "-i", parsed.Host}, dial), nil
	case "kube-pod":
		if err := plainHost(parsed, "context", "namespace", "container"); err != nil {
			return nil, err
		}
		return slices.Concat([]string{"kubectl"}, flag("context"), flag("namespace"), []string{"exec"}, flag("container"), []string{"-i", parsed.Host, "--"}, dial), nil
	case "ssh":
		return sshCommand(parsed, dial)
	}
	return nil, nil
}

func sshCommand(parsed *url.URL, dial []string) ([]string, error) {
	if _, login := parsed.User.Password(); login {
		return nil, errors.New("a password in an ssh:// address would be kept in the configuration: use a key or an agent")
	}
	if parsed.Hostname() == "" || strings.HasPrefix(parsed.Hostname(), "-") || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, errors.New("an ssh:// address is user, host, port and the path of the daemon's socket only")
	}
	command := []string{"ssh"}
	if user := parsed.User.Username(); user != "" {
		command = append(command, "-l", user)
	}
	if parsed.Port() != "" {
		command = append(command, "-p", parsed.Port())
	}
	command = append(command, "--", parsed.Hostname(), "buildctl")
	if parsed.Path != "" && parsed.Path != "/" {
		// The shell of the other machine reads this word.
		if !socketPath.MatchString(parsed.Path) {
			return nil, errors.New("the path of the daemon's socket has characters that a shell would take for its own")
		}
		command = append(command, "--addr", "unix://"+parsed.Path)
	}
	return append(command, dial[1:]...), nil
}

var (
	socketPath    = lazyregexp.New(`^/[A-Za-z0-9._/-]+$`)
	containerName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// plainHost checks an address that is a name and some of these settings.
func plainHost(parsed *url.URL, settings ...string) error {
	if !containerName.MatchString(parsed.Host) || parsed.User != nil || parsed.Path != "" && parsed.Path != "/" || parsed.Fragment != "" {
		return fmt.Errorf("a %s:// address is the name of one", parsed.Scheme)
	}
	for name := range parsed.Query() {
		if !slices.Contains(settings, name) {
			return fmt.Errorf("a %s:// address takes ?%s, not ?%s", parsed.Scheme, strings.Join(settings, ", ?"), name)
		}
	}
	return nil
}

// program is a local program that connects to the daemon.
type program struct {
	address string
	path    string
	args    []string

	mutex sync.Mutex
	said  strings.Builder
}

// findProgram looks on the PATH.
func findProgram(address string, command []string) (*program, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, &problem.Problem{Title: "Program that reaches BuildKit is not on this machine", Object: address, Cause: err,
			Advice: fmt.Sprintf("This address is reached by the program %s, which has to be on the PATH where Terraform runs. Where it is not (HCP Terraform, for one), let the daemon listen on TCP with TLS and use tcp://host:port with buildkit.tls.", command[0])}
	}
	return &program{address: address, path: path, args: command[1:]}, nil
}

// exitGrace is how long a program may take to end once its connection is closed.
const exitGrace = 3 * time.Second

// dial starts the program. It lives as long as the connection, not as long as the context of the dialling.
func (p *program) dial(context.Context, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	ctx, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Stderr, cmd.WaitDelay = p, exitGrace
	input, err := cmd.StdinPipe()
	if err != nil {
		end()
		return nil, err
	}
	cmd.Cancel = input.Close
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		end()
		return nil, err
	}
	go func() {
		_, _ = io.Copy(input, theirs)
		_ = input.Close()
	}()
	go func() {
		_, _ = io.Copy(theirs, output)
		// The end of its output is the end of the connection. What it has said by then is all read once Wait returns.
		_ = cmd.Wait()
		_ = theirs.Close()
		end()
	}()
	return &programConn{Conn: ours, end: end}, nil
}

// programConn ends the program when it is closed.
type programConn struct {
	net.Conn
	end func()
}

func (c *programConn) Close() error {
	err := c.Conn.Close()
	c.end()
	return err
}

// keptWords bounds what is remembered of a program's standard error.
const keptWords = 8 << 10

// Write takes the program's standard error.
func (p *program) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.said.Len() < keptWords {
		p.said.Write(text)
	}
	return len(text), nil
}

// failed explains a connection that came to nothing.
func (p *program) failed(err error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	found := &problem.Problem{Title: "Program did not reach BuildKit", Object: p.address, Cause: err,
		Advice: fmt.Sprintf("It was started as `%s %s`; run it by hand to see what it needs.", p.path, strings.Join(p.args, " "))}
	if said := strings.TrimSpace(p.said.String()); said != "" {
		found.Logs = strings.Split(said, "\n")
	}
	return found
}
