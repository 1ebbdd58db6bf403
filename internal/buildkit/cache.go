package buildkit

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Cache is where finished steps are kept beside the daemon's own cache: in registries, which several daemons can share
// and a prune does not reach. It decides how long a build takes, never what it makes.
type Cache struct {
	// Imports are looked through for finished steps. One that is not there or cannot be read is no error.
	Imports []reference.Reference
	// Export takes every step of the build under its tag; zero takes none. A failure fails no build: Result.Unexported
	// says what it was.
	Export reference.Reference
}

// Names that the daemon gives to its work on caches, which never is what a build fails of.
const (
	cacheImportStep = "importing cache manifest from "
	cacheExportStep = "exporting cache to "
)

//go:embed steps/installed.py
var installedProgram string

const stepInstalled = "look at the installed packages"

const registryCache = "registry"

// imports are what every solve of a build is given: a build function's solves do not take over the build's own.
func (c Cache) imports() []gateway.CacheOptionsEntry {
	var entries []gateway.CacheOptionsEntry
	for _, from := range c.Imports {
		entries = append(entries, gateway.CacheOptionsEntry{Type: registryCache, Attrs: map[string]string{"ref": from.String()}})
	}
	return entries
}

func (c Cache) exports() []client.CacheOptionsEntry {
	if c.Export == (reference.Reference{}) {
		return nil
	}
	return []client.CacheOptionsEntry{{Type: registryCache, Attrs: map[string]string{
		"ref": c.Export.String(), "mode": "max", "image-manifest": "true", "oci-mediatypes": "true", "ignore-error": "true",
	}}}
}

// of is the cache of one daemon among several, which has these platforms: one tag cannot take the steps of all. What was
// exported so is imported so, beside what one daemon exported.
func (c Cache) of(platforms []string) Cache {
	own := func(ref reference.Reference) (reference.Reference, bool) {
		tag := ref.Tag + "-" + strings.ReplaceAll(strings.Join(platforms, "-"), "/", "-")
		if ref.Tag == "" || ref.Digest != "" || !reference.ValidTag(tag) {
			return ref, false
		}
		return ref.WithTag(tag), true
	}
	imports := slices.Clone(c.Imports)
	for _, from := range c.Imports {
		if ref, other := own(from); other {
			imports = append(imports, ref)
		}
	}
	c.Imports = imports
	c.Export, _ = own(c.Export)
	return c
}

// installed gives the state whose root holds the report on what is installed, by a step of its own. A cache in a registry
// holds the install step's root alone, and asking that step for its report would run it again.
func (r recipe) installed(state llb.State) *llb.State {
	report := state.Run(
		llb.Args([]string{"python3", "-I", programFolder + "/installed.py", reportFolder + "/" + reportFile}),
		programs(map[string]string{"installed.py": installedProgram}), llb.Network(pb.NetMode_NONE), llb.WithCustomName(stepInstalled),
	).AddMount(reportFolder, llb.Scratch())
	return &report
}

// hosts are the registries that the daemon logs in to for the cache.
func (c Cache) hosts() []string {
	var hosts []string
	for _, from := range c.Imports {
		hosts = append(hosts, from.Host)
	}
	if c.Export.Host != "" {
		hosts = append(hosts, c.Export.Host)
	}
	return hosts
}

func (s *step) ofCache() bool {
	return strings.HasPrefix(s.name, cacheImportStep) || strings.HasPrefix(s.name, cacheExportStep)
}

// cacheFaults logs which caches were not imported, and gives the reason why none was exported; nil if it was.
func (p *progress) cacheFaults() error {
	var unexported error
	for _, s := range p.steps {
		if s.failure == "" || !s.ofCache() {
			continue
		}
		why := p.masker.Mask(shorten(s.failure))
		if from, imported := strings.CutPrefix(s.name, cacheImportStep); imported {
			p.logger.WarnContext(p.ctx, "build cache was not imported", "cache", from, "reason", why)
			continue
		}
		unexported = errors.New(why)
	}
	return unexported
}
