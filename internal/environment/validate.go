package environment

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// Limits of a Spec, by the environment specification v1alpha1.
const (
	MaxFiles       = 32
	MaxFileSize    = 1 << 20
	MaxFilesSize   = 8 << 20
	MaxPostInstall = 32
)

// Limits of Linux on a path, in bytes; PATH_MAX is 4096 and counts a final NUL.
const (
	maxPath          = 4095
	maxPathComponent = 255
)

var (
	envName     = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	fileMode    = lazyregexp.New(`^0?[0-7]{3}$`)
	reservedEnv = map[string]bool{"HOME": true, "PATH": true, "LANG": true, "LC_ALL": true, "TZ": true, "PYTHONHOME": true, "PYTHONPATH": true}
	fileRoots   = []string{Home + "/", "/opt/", "/srv/"}
)

// ValidateEnv checks one variable. The problem's Path starts at "env"; values are never repeated, since they may be secrets.
func ValidateEnv(name, value string) problem.List {
	at := []any{"env", problem.Key(name)}
	fault := func(title, advice string) problem.List {
		return problem.List{{Title: title, Path: at, Object: fmt.Sprintf("env[%q]", name), Advice: advice}}
	}
	switch word, kind := credentialName(name), credentialKind(value); {
	case !envName.MatchString(name):
		return fault("Invalid environment variable name", "A name is letters, digits and underscores, and does not start with a digit.")
	case reservedEnv[name] || strings.HasPrefix(name, "LD_"):
		return fault("Reserved environment variable", "HOME, PATH, LANG, LC_ALL, TZ, PYTHONHOME, PYTHONPATH and LD_* belong to "+Contract+" and are set by the base. Remove it.")
	case word != "":
		return fault("Environment variable named like a credential", fmt.Sprintf("The name holds %q. Variables are written into the artifact, where anyone who can launch it reads them: "+
			"give credentials to a sandbox when it is started, never to the artifact. If this is no credential, choose a name without that word.", word))
	case kind != "":
		return fault("Environment variable holds a credential", "The value looks like "+kind+". Variables are written into the artifact, where anyone who can launch it reads them: "+
			"give credentials to a sandbox when it is started, and revoke this one if it was committed.")
	case hasControl(value, ""):
		return fault("Control character in an environment variable", "A value may not hold line breaks or other control characters: on some services they would start another build instruction. Use files for such content.")
	}
	return nil
}

// ValidateLabel checks one image label; the Path starts at "labels".
func ValidateLabel(name, value string) problem.List {
	at := []any{"labels", problem.Key(name)}
	fault := func(title, advice string) problem.List {
		return problem.List{{Title: title, Path: at, Object: fmt.Sprintf("labels[%q]", name), Advice: advice}}
	}
	switch word, kind := credentialName(name), credentialKind(value); {
	case name == "" || strings.ContainsAny(name, " =\"") || hasControl(name, ""):
		return fault("Invalid label name", "A label name is not empty and holds no spaces, quotes, equals signs or control characters.")
	case strings.HasPrefix(strings.ToLower(name), LabelPrefix):
		return fault("Reserved label", "Labels that start with "+LabelPrefix+", in any case of letters, are written by the provider. Choose another prefix.")
	case word != "":
		return fault("Label named like a credential", fmt.Sprintf("The name holds %q. Labels are public to anyone who can pull the image.", word))
	case kind != "":
		return fault("Label holds a credential", "The value looks like "+kind+". Labels are public to anyone who can pull the image.")
	case hasControl(value, ""):
		return fault("Control character in a label", "A label's value may not hold line breaks or other control characters.")
	}
	return nil
}

// ValidateFiles checks the files one by one and together; Paths start at "files".
func ValidateFiles(files []File) problem.List {
	var faults problem.List
	report := func(index int, attribute, title, object, advice string) {
		at := []any{"files"}
		if index >= 0 {
			at = append(at, index, attribute)
		}
		faults = append(faults, &problem.Problem{Title: title, Path: at, Object: object, Advice: advice})
	}
	seen := map[string]int{}
	total := 0
	for i, f := range files {
		if reason := filePathFault(f.Path); reason != "" {
			report(i, "path", "Invalid file path", shownPath(f.Path), reason)
		}
		if first, twice := seen[f.Path]; twice {
			report(i, "path", "File listed twice", fmt.Sprintf("%s is also files[%d]", shownPath(f.Path), first), "Keep one of them.")
		}
		seen[f.Path] = i
		if !fileMode.MatchString(f.Mode) {
			report(i, "mode", "Invalid file mode", fmt.Sprintf("%q", f.Mode), `A mode is three octal digits with an optional leading zero, such as "0644" or "0755"; setuid, setgid and sticky bits are not taken.`)
		}
		if len(f.Content) > MaxFileSize {
			report(i, "content", "File too large", fmt.Sprintf("%s has %d bytes", shownPath(f.Path), len(f.Content)), "A file may have 1 MiB. Larger data belongs in a package, in the base or in a volume.")
		}
		total += len(f.Content)
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		for parent := path.Dir(name); len(parent) > 1; parent = path.Dir(parent) {
			if _, both := seen[parent]; both {
				report(seen[name], "path", "File below another file", fmt.Sprintf("%s is a file, and %s lies below it", shownPath(parent), shownPath(name)), "A path is a file or a folder, not both.")
			}
		}
	}
	if len(files) > MaxFiles {
		report(-1, "", "Too many files", fmt.Sprintf("%d files", len(files)), fmt.Sprintf("At most %d are taken. Put larger sets in a package or in the base.", MaxFiles))
	}
	if total > MaxFilesSize {
		report(-1, "", "Files too large together", fmt.Sprintf("%d bytes", total), "All files together may have 8 MiB.")
	}
	return faults
}

// filePathFault says why a path is refused and what to write, or "".
func filePathFault(name string) string {
	rule := "A path is absolute and clean, below " + Home + "/, /opt/ or /srv/, and not in " + ReservedPath + "."
	switch {
	case hasControl(name, "") || !utf8.ValidString(name):
		return "A path holds no control characters and is valid UTF-8."
	case len(name) > maxPath:
		return fmt.Sprintf("A path has at most %d bytes, and this one %d.", maxPath, len(name))
	case !path.IsAbs(name) || path.Clean(name) != name:
		clean := path.Clean("/" + name)
		if reason := filePathFault(clean); reason != "" {
			return reason
		}
		return rule + " Write " + shownPath(clean) + " if that is what you mean."
	case name == ReservedPath || strings.HasPrefix(name, ReservedPath+"/"):
		return ReservedPath + " belongs to the base and is read-only to the user."
	case name == WorkDir:
		return WorkDir + " is a folder, the working directory. Write below it: " + fmt.Sprintf("%q", WorkDir+"/<name>") + "."
	}
	for component := range strings.SplitSeq(name, "/") {
		if len(component) > maxPathComponent {
			return fmt.Sprintf("The name of a file or folder has at most %d bytes, and %s has %d.", maxPathComponent, shownPath(component), len(component))
		}
	}
	for _, root := range fileRoots {
		if strings.HasPrefix(name, root) {
			return ""
		}
	}
	return rule
}

// shownPath quotes a path for an error, at a length that can be read.
func shownPath(name string) string {
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[:200]) + "…"
	}
	return fmt.Sprintf("%q", name)
}

// ValidatePostInstall checks the commands; Paths start at "post_install".
func ValidatePostInstall(commands []Command) problem.List {
	var faults problem.List
	if len(commands) > MaxPostInstall {
		faults = append(faults, &problem.Problem{Title: "Too many post-install commands", Path: []any{"post_install"}, Object: fmt.Sprintf("%d commands", len(commands)),
			Advice: fmt.Sprintf("At most %d are taken. Join some with &&, or put a script in files.", MaxPostInstall)})
	}
	for i, c := range commands {
		at := []any{"post_install", i, "command"}
		switch {
		case strings.TrimSpace(c.Command) == "":
			faults = append(faults, &problem.Problem{Title: "Empty post-install command", Path: at, Object: fmt.Sprintf("post_install[%d]", i), Advice: "Write a shell command, or remove the entry."})
		case hasControl(NormalCommand(c.Command), "\n\t"):
			faults = append(faults, &problem.Problem{Title: "Control character in a post-install command", Path: at, Object: fmt.Sprintf("post_install[%d]", i), Advice: "Line breaks and tabs are taken, other control characters are not."})
		}
	}
	return faults
}

// Validate checks the whole spec.
func (s Spec) Validate() problem.List {
	var faults problem.List
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		faults = append(faults, ValidateEnv(name, s.Env[name])...)
	}
	faults = append(faults, ValidateFiles(s.Files)...)
	faults = append(faults, ValidateAptPackages(s.AptPackages)...)
	return append(faults, ValidatePostInstall(s.PostInstall)...)
}

func hasControl(text, allowed string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return (r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029) && !strings.ContainsRune(allowed, r)
	}) || !utf8.ValidString(text)
}
