package base

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// System is what the files of an image say of the system in it; "" for a file that it lacks.
type System struct {
	// Passwd, Group and OSRelease are /etc/passwd, /etc/group and /etc/os-release.
	Passwd, Group, OSRelease string
}

// Check says why no base can be made on the system; nil if one can. The user and the group of the contract may be there
// already, as they are in a base. An account of another name with uid 1000 stays its owner's: it is an error, not renamed.
func (s System) Check() error {
	if err := checkDebian(s.OSRelease); err != nil {
		return err
	}
	uid, gid := strconv.Itoa(environment.UID), strconv.Itoa(environment.GID)
	for _, entry := range entries(s.Passwd, 6) {
		name, entryUID, entryGID, home := entry[0], entry[2], entry[3], entry[5]
		switch {
		case name == environment.User && (entryUID != uid || entryGID != gid):
			return fmt.Errorf("its user %s is %s:%s, and the contract wants %s:%s", name, entryUID, entryGID, uid, gid)
		case name == environment.User && home != environment.Home:
			return fmt.Errorf("its user %s has the home %s, and the contract wants %s", name, home, environment.Home)
		case name != environment.User && entryUID == uid:
			return fmt.Errorf("its user %q has uid %s, which the contract gives to %s: remove that user in an image of your own (`RUN userdel --remove %s`) and take that one", name, uid, environment.User, name)
		}
	}
	// The name of gid 100 has no meaning; its absence is made up for by Debian's own name for it.
	taken := ""
	for _, entry := range entries(s.Group, 3) {
		if entry[2] == gid {
			return nil
		}
		if entry[0] == Group {
			taken = entry[2]
		}
	}
	if taken != "" {
		return fmt.Errorf("it has no group %s, and its group %s, which would become that, has gid %s", gid, Group, taken)
	}
	return nil
}

// Group is Debian's name of gid 100.
const Group = "users"

func checkDebian(release string) error {
	if release == "" {
		return fmt.Errorf("it has no /etc/os-release, so it is no Debian")
	}
	said := map[string]string{}
	for line := range strings.Lines(release) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = strings.Trim(value, `"'`)
	}
	for _, family := range append(strings.Fields(said["ID_LIKE"]), said["ID"]) {
		if family == "debian" || family == "ubuntu" {
			return nil
		}
	}
	return fmt.Errorf("it is %s, and the contract wants Debian or Ubuntu", firstOf(said["PRETTY_NAME"], said["ID"], "an unnamed system"))
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// entries are the lines of an account file that have at least so many fields.
func entries(text string, fields int) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		if entry := strings.Split(strings.TrimRight(line, "\r\n"), ":"); len(entry) >= fields {
			all = append(all, entry)
		}
	}
	return all
}
