package buildkit

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"

	"github.com/datalayer/terraform-provider-datalayer/internal/steps"
)

//go:embed steps/probe.py
var probeProgram string

// epoch is the time that every file and image of ours carries. A fixed time is what makes equal content equal bytes;
// 1980 is the first that a zip archive can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Where the steps find their programs and leave their reports; both are mounts that no layer keeps.
const (
	programFolder = "/run/datalayer"
	reportFolder  = "/run/datalayer-report"
	reportFile    = "report.json"
)

// Names of the steps, as logs and errors give them.
const (
	stepProbe   = "look at the base's Python"
	stepApt     = "install the Debian packages"
	stepLock    = "install the locked packages"
	stepWorkDir = "make sure of the working directory"
	stepSystem  = "make the user and the folders of the contract"
	// The last two are followed by the path or the index.
	stepWrite       = "write "
	stepPostInstall = "post_install"
)

// recipe turns a request into the graph for one platform. It is pure: equal requests give equal graphs.
type recipe struct {
	request    Request
	platform   string
	baseConfig []byte
	// python is what the probe told, and packages what the lock installs, once they are known.
	python   python
	packages map[string]string
}

// python is the probe's report.
type python struct {
	// Python is the full version, and Prefix where it is installed.
	Python, Implementation, Prefix string
	// Pip is its version; nil where there is none.
	Pip *string
	// Libc is the C library that it is linked to, "glibc 2.36"; "" where it does not tell.
	Libc string
	// SitePackages are the system's own, in the order of sys.path.
	SitePackages []string `json:"site_packages"`
}

// content is what a request makes of its base: an environment, or a base image out of a plain one.
type content interface {
	// check holds the base's files against what the content needs, before anything runs in it.
	check(ctx context.Context, daemon gateway.Client) error
	// prepared is the state with the Python that the lock is installed into.
	prepared() (llb.State, error)
	// fits holds that Python against what the content needs.
	fits() error
	// image gives the state of the image and, when a lock is installed, the one whose root holds the install report.
	image() (root llb.State, report *llb.State, err error)
	// configure makes the image's config of the base's.
	configure(config map[string]any)
	// layers says of each layer that the image has on top of its base what made it.
	layers() []string
}

func (r recipe) content() content {
	if r.request.BaseImage != nil {
		return baseRecipe{r}
	}
	return environmentRecipe{r}
}

// base is the base with its own environment, as root, which is how the package steps run.
func (r recipe) base() (llb.State, error) {
	p, err := platforms.Parse(r.platform)
	if err != nil {
		return llb.State{}, err
	}
	name := r.request.Base.String()
	state, err := llb.Image(name, llb.Platform(p), llb.WithCustomName("base "+name)).WithImageConfig(r.baseConfig)
	if err != nil {
		return llb.State{}, fmt.Errorf("config of %s: %w", name, err)
	}
	return state.Platform(p).Dir("/").User("0:0"), nil
}

// probe gives the state whose root holds the probe's report.
func (r recipe) probe() (llb.State, error) {
	state, err := r.content().prepared()
	if err != nil {
		return llb.State{}, err
	}
	return state.Run(
		llb.Args([]string{"python3", "-I", programFolder + "/probe.py", reportFolder + "/" + reportFile}),
		programs(map[string]string{"probe.py": probeProgram}), llb.Network(pb.NetMode_NONE), llb.WithCustomName(stepProbe),
	).AddMount(reportFolder, llb.Scratch()), nil
}

// aptStep installs Debian packages; more are options of the step.
func (r recipe) aptStep(state llb.State, packages []string, more ...llb.RunOption) llb.State {
	return state.Run(append(append(r.networked(), more...),
		llb.Args(append([]string{"/bin/sh", programFolder + "/apt.sh"}, packages...)),
		programs(map[string]string{"apt.sh": steps.Apt}), sourceDateEpoch(), noByteCode(), llb.WithCustomName(stepApt))...).Root()
}

// lockStep installs the lock, and gives the state whose root holds the report.
func (r recipe) lockStep(state llb.State) (root llb.State, report *llb.State) {
	step := state.Run(append(append(r.networked(), r.packageIndex()...),
		llb.Args([]string{"python3", "-I", "-B", programFolder + "/install.py", programFolder + "/requirements.txt", reportFolder + "/" + reportFile}),
		programs(map[string]string{"install.py": steps.Install, "requirements.txt": r.request.Lock.Canonical()}),
		sourceDateEpoch(), noByteCode(), llb.WithCustomName(stepLock))...)
	written := step.AddMount(reportFolder, llb.Scratch())
	root, report = step.Root(), &written
	if len(r.request.Cache.Imports) > 0 {
		report = r.installed(root)
	}
	return root, report
}

// sourceDateEpoch makes what compiles Python (pip, Debian's package scripts, compileall) write byte-code that is checked by
// hash: the times of files become those of the image, so that with times in it every copy would be stale.
func sourceDateEpoch() llb.RunOption {
	return llb.AddEnv("SOURCE_DATE_EPOCH", strconv.FormatInt(epoch.Unix(), 10))
}

// noByteCode keeps imports from writing byte-code, which always has times in it.
func noByteCode() llb.RunOption { return llb.AddEnv("PYTHONDONTWRITEBYTECODE", "1") }

// networked are the options of a step that reaches a package index.
func (r recipe) networked() []llb.RunOption {
	var options []llb.RunOption
	// A proxy's address may hold a password, and BuildKit's own proxy setting ends up in provenance: so it is a secret.
	for _, name := range slices.Sorted(maps.Keys(r.request.Network.proxies())) {
		options = append(options, llb.AddSecretWithDest(name, nil, llb.SecretAsEnvName(name)))
	}
	// apt drops root while it downloads, so the bundle, which is no secret, is readable by all.
	if len(r.request.Network.CABundle) > 0 {
		options = append(options, llb.AddSecret("/run/secrets/"+caSecret, llb.SecretID(caSecret), llb.SecretFileOpt(0, 0, 0o444)))
	}
	return options
}

// trigger makes the daemon know a step of an archive or a network by the request's trigger too. The secret is optional and nobody
// has it, so that nothing is mounted: the step, its layer and the config stay what they are.
func (r recipe) trigger() []llb.RunOption {
	if r.request.RebuildTrigger == "" {
		return nil
	}
	return []llb.RunOption{llb.AddSecret("/run/secrets/"+triggerSecret, llb.SecretID(triggerSecret+"-"+r.request.RebuildTrigger), llb.SecretOptional)}
}

// packageIndex are the mounts by which the install step learns of the package index.
func (r recipe) packageIndex() []llb.RunOption {
	index := r.request.PackageIndex
	if index == nil {
		return nil
	}
	// Not by the password: a new one is no reason to install anew. Whom another's wrong one was held against tries alone.
	options := []llb.RunOption{
		secretFile(indexSecret, indexSecret, 0, 0), knownBy(index.URL.String(), index.Username, string(index.CACertificates), r.request.alone),
	}
	if len(index.CACertificates) > 0 {
		options = append(options, secretFile(indexCASecret, indexCASecret, 0, 0))
	}
	return options
}

// buildSecrets are the user's secrets, readable by the step's user alone.
func (r recipe) buildSecrets(uid, gid int) []llb.RunOption {
	var options []llb.RunOption
	for _, name := range slices.Sorted(maps.Keys(r.request.BuildSecrets)) {
		options = append(options, secretFile(name, buildSecretPrefix+name, uid, gid))
	}
	return options
}

func secretFile(name, id string, uid, gid int) llb.RunOption {
	return llb.AddSecret("/run/secrets/"+name, llb.SecretID(id), llb.SecretFileOpt(uid, gid, 0o400))
}

func programs(files map[string]string) llb.RunOption {
	folder := llb.Scratch()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		folder = folder.File(llb.Mkfile("/"+name, 0o444, []byte(files[name]), created), llb.WithCustomName("bring "+name))
	}
	return llb.AddMount(programFolder, folder, llb.Readonly)
}

// imageConfig is the base's config with the content's own settings on top. It works on the JSON as it is, so that
// fields this program does not know stay.
func (r recipe) imageConfig() ([]byte, error) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(r.baseConfig, &document); err != nil {
		return nil, fmt.Errorf("config of %s: %w", r.request.Base, err)
	}
	config := map[string]any{}
	if raw, ok := document["config"]; ok && string(raw) != "null" {
		if err := json.Unmarshal(raw, &config); err != nil {
			return nil, fmt.Errorf("config of %s: %w", r.request.Base, err)
		}
	}
	r.content().configure(config)
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	document["config"] = encoded
	if err := r.addHistory(document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// label adds the request's labels and these to a config's own.
func (r recipe) label(config map[string]any, own map[string]string) {
	labels, ok := config["Labels"].(map[string]any)
	if !ok {
		labels = map[string]any{}
	}
	for _, more := range []map[string]string{r.request.Labels, own} {
		for name, value := range more {
			labels[name] = value
		}
	}
	config["Labels"] = labels
}

// mergeEnv replaces variables of the base in their place and appends new ones by name.
func mergeEnv(base any, own map[string]string) []string {
	merged := []string{}
	replaced := map[string]bool{}
	entries, _ := base.([]any)
	for _, entry := range entries {
		text, ok := entry.(string)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(text, "=")
		if value, ours := own[name]; ours {
			text = name + "=" + value
			replaced[name] = true
		}
		merged = append(merged, text)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !replaced[name] {
			merged = append(merged, name+"="+own[name])
		}
	}
	return merged
}
