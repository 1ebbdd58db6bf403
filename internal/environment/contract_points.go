package environment

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// ImageConfig is what the config of one platform's image says, as far as the contract asks.
type ImageConfig struct {
	User, WorkingDir string
	// Env are NAME=value; of two with one name the last holds.
	Env        []string
	Entrypoint []string
	// Volumes are paths, OnBuild Dockerfile instructions, StopSignal a signal or "".
	Volumes, OnBuild []string
	StopSignal       string
}

// Point is one point of the contract, held against an image that was not run.
type Point struct {
	// ID is the doctor's row where it has one: "architecture", "workdir", "home", "locale", "timezone"; and "user"
	// (which covers uid and gid), "entrypoint", "volume", "onbuild", "stopsignal".
	ID string
	// Met is nil where only a running sandbox can tell.
	Met *bool
	// Expected and Actual are for people.
	Expected, Actual string
}

// ContractPoints holds an image's configs, by platform, against the points of the contract that a config can show. All
// but the architecture are judged on DefaultPlatform, or without it on the first platform by name. The order is fixed.
func ContractPoints(configs map[string]ImageConfig) []Point {
	names := slices.Sorted(maps.Keys(configs))
	_, fits := configs[DefaultPlatform]
	platform := DefaultPlatform
	if !fits && len(names) > 0 {
		platform = names[0]
	}
	config := configs[platform]
	env := map[string]string{}
	for _, entry := range config.Env {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	points := []Point{{ID: "architecture", Met: &fits, Expected: DefaultPlatform, Actual: listed(names)}}
	return append(points,
		user(config.User), workdir(config.WorkingDir), home(env), locale(env), timezone(env), entrypoint(config.Entrypoint),
		none("volume", config.Volumes), none("onbuild", config.OnBuild), none("stopsignal", strings.Fields(config.StopSignal)),
	)
}

// user is met by numbers alone: what a name stands for is in the image's /etc/passwd.
func user(value string) Point {
	point := Point{ID: "user", Expected: fmt.Sprintf("%d:%d", UID, GID), Actual: orUnset(value)}
	name, group, grouped := strings.Cut(value, ":")
	switch {
	case value == point.Expected:
		point.Met = yes()
	case name != User && name != fmt.Sprint(UID), grouped && number(group) && group != fmt.Sprint(GID):
		point.Met = no()
	}
	return point
}

func number(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func workdir(value string) Point {
	met := value != "" && path.Clean(value) == WorkDir
	return Point{ID: "workdir", Met: &met, Expected: WorkDir, Actual: orUnset(value)}
}

// home unset is what /etc/passwd says once a container runs.
func home(env map[string]string) Point {
	return variable("home", "HOME", Home, env["HOME"], func(value string) bool { return value == Home })
}

// locale unset is POSIX, whatever the image's files say: nothing in a container reads /etc/default/locale.
func locale(env map[string]string) Point {
	name := "LC_ALL"
	if env[name] == "" {
		name = "LANG"
	}
	point := variable("locale", name, "LC_ALL or LANG = C.UTF-8", env[name], func(value string) bool {
		return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(value)) == "c.utf8"
	})
	if point.Met == nil {
		point.Met = no()
	}
	return point
}

// utc are the names of UTC in the time zone database.
var utc = []string{"UTC", "UTC0", "UCT", "Universal", "Zulu", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu"}

// timezone unset is what /etc/timezone or /etc/localtime says.
func timezone(env map[string]string) Point {
	return variable("timezone", "TZ", "UTC", env["TZ"], func(value string) bool { return slices.Contains(utc, strings.TrimPrefix(value, ":")) })
}

// variable judges an environment variable; one that is unset leaves the point open.
func variable(id, name, expected, value string, right func(string) bool) Point {
	point := Point{ID: id, Expected: expected, Actual: name + " is not set"}
	if value != "" {
		met := right(value)
		point.Met, point.Actual = &met, name+" = "+value
	}
	return point
}

// none is a point that asks for nothing to be there.
func none(id string, found []string) Point {
	met := len(found) == 0
	return Point{ID: id, Met: &met, Expected: "none", Actual: listed(found)}
}

func listed(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(values, ", ")
}

func orUnset(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

func yes() *bool { return new(true) }
func no() *bool  { return new(false) }
