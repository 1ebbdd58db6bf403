package e2b

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
	"github.com/datalayer/terraform-provider-datalayer/internal/lock"
	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
	"github.com/datalayer/terraform-provider-datalayer/internal/steps"
)

var (
	//go:embed codeinterpreter/prepare.py
	prepareProgram []byte
	//go:embed codeinterpreter/place.py
	placeProgram []byte
	//go:embed codeinterpreter/finish.py
	finishProgram []byte
)

const (
	root = "root"
	// workshop is where the steps find what they bring; the last one removes it.
	workshop = environment.ReservedPath + "/build"
)

// Recipe is all that determines what a template holds.
type Recipe struct {
	// Base is pinned by digest.
	Base reference.Reference
	// Spec is valid. Lock is nil when nothing is to be installed.
	Spec environment.Spec
	Lock *lock.Lock
	// Python is the "major.minor" that the base must have; empty takes what it has.
	Python string
	// Interpreter is one that CheckCommit and CheckEdit take, with a source that CheckSource takes.
	Interpreter Interpreter
	// StartCommand and ReadyCommand are as in BuildStart.
	StartCommand, ReadyCommand string
	// Anew runs the Debian packages and the commands, and what comes after the first of them, whatever E2B's cache holds:
	// what they fetch may have moved.
	Anew bool
}

// Instructions are a recipe as E2B takes it.
type Instructions struct {
	Start    BuildStart
	Archives []Archive
	// Origins say of each step which argument made it, for the failure of one.
	Origins []Origin
	// tells is the number of the step that prints the template's report.
	tells int
}

// Origin is the argument that made a step, as a path, and what the step does.
type Origin struct {
	Path []any
	Does string
}

// Environment are the variables that a launcher must pass when it creates a sandbox: E2B keeps none of a template's.
func (r Recipe) Environment() map[string]string { return CreateEnv(r.Spec.Env) }

// CreateEnv adds the locale of the contract to the variables of a Spec.
func CreateEnv(env map[string]string) map[string]string {
	all := map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
	maps.Copy(all, env)
	return all
}

// Instructions gives the steps. Equal recipes give equal steps and archives. It reads the folder of a local source and
// nothing else.
func (r Recipe) Instructions() (Instructions, error) {
	spec := r.Spec.Normalize()
	i := &Instructions{Start: BuildStart{FromImage: r.Base.Repository.WithDigest(r.Base.Digest).String(), StartCommand: r.start(spec.Env), ReadyCommand: r.ReadyCommand}}
	if err := i.begin(r); err != nil {
		return Instructions{}, err
	}
	if len(spec.AptPackages) > 0 {
		i.run(root, Origin{[]any{"apt_packages"}, "install the Debian packages"}, append([]string{"sh", workshop + "/apt.sh"}, spec.AptPackages...)...)
		i.force(r.Anew)
	}
	if r.Lock != nil {
		at := Origin{[]any{"lock"}, "install the locked packages"}
		if err := i.bring("lock", map[string][]byte{"requirements.txt": []byte(r.Lock.Canonical())}, at); err != nil {
			return Instructions{}, err
		}
		i.run(root, at, "python3", "-I", "-B", workshop+"/install.py", workshop+"/lock/requirements.txt", workshop+"/report.json")
	}
	if err := i.files(spec.Files); err != nil {
		return Instructions{}, err
	}
	if err := i.env(spec.Env); err != nil {
		return Instructions{}, err
	}
	for n, command := range spec.PostInstall {
		i.run(environment.User, Origin{[]any{"post_install", n}, fmt.Sprintf("post_install[%d]", n)}, inEnvironment(spec.Env, "/bin/sh", command.Command)...)
		i.force(r.Anew)
	}
	// Its words are the template's own report, so it runs in each build, and E2B runs anew what comes after it.
	i.run(root, Origin{[]any{"base"}, "tell what the template has"}, "python3", "-I", workshop+"/finish.py", workshop)
	i.tells = len(i.Start.Steps)
	i.force(true)
	i.add(Step{Type: "USER", Args: []string{environment.User}}, Origin{[]any{"base"}, "take the contract's user"})
	i.add(Step{Type: "WORKDIR", Args: []string{environment.WorkDir}}, Origin{[]any{"base"}, "take the contract's working directory"})
	return *i, nil
}

// begin brings the programs, looks at the base, and puts the code-interpreter server into place.
func (i *Instructions) begin(r Recipe) error {
	programs := map[string][]byte{
		"prepare.py": prepareProgram, "server.py": interpreterProgram, "manifest.json": interpreterManifest, "server.lock": interpreterLock,
		"start.py": interpreterStart, "jupyter_server_config.py": interpreterJupyter, "place.py": placeProgram, "finish.py": finishProgram,
		"install.py": []byte(steps.Install), "apt.sh": []byte(steps.Apt),
	}
	source := r.Interpreter.remote()
	if source == "" {
		source = workshop + "/source"
		files, err := r.Interpreter.local()
		if err != nil {
			return err
		}
		maps.Copy(programs, files)
	}
	if err := i.bring("", programs, Origin{[]any{"base"}, "bring the programs of the build"}); err != nil {
		return err
	}
	i.run(root, Origin{[]any{"base"}, "look at the base"}, "python3", "-I", workshop+"/prepare.py")
	if r.Python != "" {
		i.run(root, Origin{[]any{"python_version"}, "look at the base's Python"}, "python3", "-I", workshop+"/prepare.py", r.Python)
	}
	i.run(root, Origin{[]any{"code_interpreter"}, "install the code-interpreter server"}, "python3", "-I", workshop+"/server.py", workshop, source)
	return nil
}

// files writes the files of an environment.
func (i *Instructions) files(files []environment.File) error {
	if len(files) == 0 {
		return nil
	}
	type entry struct {
		Path string `json:"path"`
		Mode string `json:"mode"`
		Name string `json:"name"`
	}
	contents, list := map[string][]byte{}, []entry{}
	for n, f := range files {
		name := fmt.Sprintf("%02d", n)
		contents[name] = f.Content
		list = append(list, entry{f.Path, f.Mode, name})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("list of files: %w", err)
	}
	contents["files.json"] = text
	at := Origin{[]any{"files"}, "write the files"}
	if err := i.bring("files", contents, at); err != nil {
		return err
	}
	i.run(root, at, "python3", "-I", workshop+"/place.py", workshop+"/files")
	return nil
}

// bring copies a folder of files into the workshop.
func (i *Instructions) bring(folder string, files map[string][]byte, at Origin) error {
	name, target := folder, workshop
	if folder == "" {
		name = "programs"
	} else {
		target += "/" + folder
	}
	archive, err := packed(name, files)
	if err != nil {
		return err
	}
	i.Archives = append(i.Archives, archive)
	i.add(Step{Type: "COPY", Args: []string{name, target, root, ""}, FilesHash: archive.Hash}, at)
	return nil
}

// run runs a program as a user. E2B gives a text to a shell.
func (i *Instructions) run(user string, at Origin, words ...string) {
	i.add(Step{Type: "RUN", Args: []string{shellLine(words), user}}, at)
}

// force says whether the last step is run whatever E2B's cache holds, and with it all later ones.
func (i *Instructions) force(run bool) { i.Start.Steps[len(i.Start.Steps)-1].Force = run }

func (i *Instructions) add(step Step, at Origin) {
	i.Start.Steps, i.Origins = append(i.Start.Steps, step), append(i.Origins, at)
}

// packed is the archive of a folder with these files, by their paths within it. A COPY step takes it by the folder's name.
func packed(folder string, files map[string][]byte) (Archive, error) {
	var all []ArchivedFile
	for name, content := range files {
		all = append(all, ArchivedFile{Path: path.Join(folder, name), Mode: 0o644, Content: content})
	}
	archive, err := Pack(all...)
	if err != nil {
		return Archive{}, fmt.Errorf("archive of %s: %w", folder, err)
	}
	return archive, nil
}
