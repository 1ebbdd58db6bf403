package e2b

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// env keeps the variables for the provider's start command. E2B's own ENV step would expand what looks like a variable in a value.
func (i *Instructions) env(env map[string]string) error {
	if len(env) == 0 {
		return nil
	}
	text, err := json.Marshal(env)
	if err != nil {
		return fmt.Errorf("variables: %w", err)
	}
	archive, err := packed("environment", map[string][]byte{"environment.json": text})
	if err != nil {
		return err
	}
	i.Archives = append(i.Archives, archive)
	i.add(Step{Type: "COPY", Args: []string{"environment", environment.ReservedPath, root, ""}, FilesHash: archive.Hash}, Origin{[]any{"env"}, "keep the variables"})
	return nil
}

// start is the start command with these variables. The provider's own reads them where env keeps them; to any other E2B
// gives none.
func (r Recipe) start(env map[string]string) string {
	if r.StartCommand == "" || r.StartCommand == StartCommand || len(env) == 0 {
		return r.StartCommand
	}
	return shellLine(inEnvironment(env, "/bin/bash", r.StartCommand))
}

// inEnvironment is a command of a shell with these variables, in the working directory.
func inEnvironment(env map[string]string, shell, command string) []string {
	words := []string{"env", "-C", environment.WorkDir, "HOME=" + environment.Home, "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, name+"="+env[name])
	}
	return append(words, shell, "-c", command)
}

// shellLine are words as a POSIX shell takes them.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for n, word := range words {
		quoted[n] = shellQuoted(word)
	}
	return strings.Join(quoted, " ")
}

// shellQuoted is a word as a POSIX shell takes it.
func shellQuoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("@%+=:,./-_", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
