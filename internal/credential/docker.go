package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/datalayer/terraform-provider-datalayer/internal/childprocess"
	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

const (
	helperPrefix  = "docker-credential-"
	helperTimeout = 10 * time.Second
	// helperNotFound is what a helper answers, by its protocol, about a host that it does not know.
	helperNotFound = "credentials not found in native keychain"
	// tokenUser is the user name that marks a helper's secret as an identity token.
	tokenUser = "<token>"
	// hubKey is Docker Hub's key in the Docker configuration and in helpers.
	hubKey = "https://index.docker.io/v1/"
)

// fromDocker looks a host up in the Docker configuration: its credential helper, else the configured store, else
// what the file itself holds. No file is no credential.
func fromDocker(ctx context.Context, host string) (image.Credential, error) {
	path := configPath()
	if path == "" {
		return image.Credential{}, nil
	}
	key := host
	if host == "docker.io" {
		key = hubKey
	}
	helper, err := helperFor(path, host, key)
	if err != nil {
		return image.Credential{}, unreadable(path, host, err)
	}
	if helper != "" {
		return ask(ctx, helper, key, host, helperTimeout)
	}
	store, err := credentials.NewFileStore(path)
	if err != nil {
		return image.Credential{}, unreadable(path, host, errors.New("it does not have the form of a Docker configuration"))
	}
	found, err := store.Get(ctx, key)
	if err != nil {
		// The library's error may repeat the entry.
		return image.Credential{}, unreadable(path, host, fmt.Errorf("the entry of %s in \"auths\" is broken", host))
	}
	return image.Credential{
		Username: found.Username, Password: secret.New(found.Password), RefreshToken: secret.New(found.RefreshToken),
	}, nil
}

// configPath is Docker's rule; "" without DOCKER_CONFIG and a home directory: there is no configuration then.
func configPath() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker", "config.json")
}

// helperFor gives the suffix of the helper program that keeps the host's credential; "" if the file does.
func helperFor(path, host, key string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return "", nil
	}
	var config struct {
		CredsStore  string            `json:"credsStore"`
		CredHelpers map[string]string `json:"credHelpers"`
	}
	if json.Unmarshal(text, &config) != nil {
		return "", errors.New("it is not the JSON of a Docker configuration")
	}
	for _, name := range []string{key, host} {
		if helper := config.CredHelpers[name]; helper != "" {
			return helper, nil
		}
	}
	return config.CredsStore, nil
}

// ask runs a credential helper. It is run here rather than by the library, which passes the helper's errors on to our
// own standard error and waits for whatever the helper left running.
func ask(ctx context.Context, helper, key, host string, limit time.Duration) (image.Credential, error) {
	program := helperPrefix + helper
	failed := func(cause error, advice string) error {
		return &problem.Problem{
			Title: "Docker credential helper failed", Object: program + " for " + host, Cause: cause, Advice: advice,
		}
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out answerBuffer
	command := exec.CommandContext(bounded, program, "get") //nolint:gosec // named by the user's own configuration
	command.Stdin = strings.NewReader(key)
	command.Stdout = &out
	command.Stderr = io.Discard
	command.WaitDelay = time.Second
	// A helper is often a script: what it waits for ends with it.
	childprocess.EndWithAll(command)
	err := childprocess.Run(command)
	if errors.Is(err, exec.ErrWaitDelay) {
		// The helper has ended well and answered; an agent that it started still holds our pipe.
		err = nil
	}
	const advice = "Run the helper by hand (it reads the host on standard input) or give this host's credentials in the provider's registries."
	switch {
	case out.over:
		return image.Credential{}, failed(fmt.Errorf("its answer is larger than %d bytes", maxAnswer), advice)
	case err != nil && ctx.Err() != nil:
		return image.Credential{}, failed(ctx.Err(), "")
	case err != nil && bounded.Err() != nil:
		return image.Credential{}, failed(fmt.Errorf("no answer within %s", limit), advice)
	case errors.Is(err, exec.ErrNotFound):
		return image.Credential{}, failed(errors.New("the program is not on the PATH"),
			"Install it, remove it from the Docker configuration, or give this host's credentials in the provider's registries.")
	case err != nil && strings.TrimSpace(out.text.String()) == helperNotFound:
		return image.Credential{}, nil
	case err != nil:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("it ended with status %d", exit.ExitCode())
		}
		return image.Credential{}, failed(err, advice)
	}
	var answer struct{ Username, Secret string }
	if json.Unmarshal(out.text.Bytes(), &answer) != nil {
		return image.Credential{}, failed(errors.New("its answer is not understood"), advice)
	}
	if strings.ContainsFunc(answer.Secret, unicode.IsControl) {
		return image.Credential{}, failed(errors.New("its secret holds a line break or another control character, which no registry takes"), advice)
	}
	if answer.Username == tokenUser {
		return image.Credential{RefreshToken: secret.New(answer.Secret)}, nil
	}
	return image.Credential{Username: answer.Username, Password: secret.New(answer.Secret)}, nil
}

// maxAnswer bounds what is read of a helper's answer: a login is some kilobytes at most.
const maxAnswer = 1 << 20

// answerBuffer keeps an answer, and refuses one that has no end.
type answerBuffer struct {
	// text is not embedded: io.Copy would fill it past Write.
	text bytes.Buffer
	over bool
}

func (b *answerBuffer) Write(data []byte) (int, error) {
	if b.over = b.over || b.text.Len()+len(data) > maxAnswer; b.over {
		return 0, errors.New("the answer is too large")
	}
	return b.text.Write(data)
}

func unreadable(path, host string, cause error) error {
	return &problem.Problem{
		Title: "Docker configuration cannot be read", Object: path, Cause: cause,
		Advice: "Correct the file, or give the credentials of " + host + " in the provider's registries.",
	}
}
