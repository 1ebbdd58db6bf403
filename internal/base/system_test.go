package base_test

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
)

const (
	debian = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n"
	root   = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	groups = "root:x:0:\nusers:x:100:\n"
	own    = "datalayer:x:1000:100::/home/datalayer:/bin/bash\n"
)

func TestSystemsThatABaseCanBeMadeOn(t *testing.T) {
	for name, system := range map[string]base.System{
		"plain Debian":            {Passwd: root, Group: groups, OSRelease: debian},
		"Ubuntu":                  {Passwd: root, Group: groups, OSRelease: "ID=ubuntu\nID_LIKE=debian\n"},
		"made of Debian":          {Passwd: root, Group: groups, OSRelease: "ID=raspbian\nID_LIKE='something debian'\n"},
		"a base":                  {Passwd: root + own, Group: groups, OSRelease: debian},
		"group 100, another name": {Passwd: root, Group: "root:x:0:\nstaff:x:100:\n", OSRelease: debian},
		"no group 100":            {Passwd: root, Group: "root:x:0:\n", OSRelease: debian},
		"no accounts":             {OSRelease: debian},
		"broken lines":            {Passwd: root + "+\n\n:::\n", Group: groups + "x\n", OSRelease: debian + "\nnot a setting\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := system.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSystemsThatAreRefusedAreTold(t *testing.T) {
	for name, test := range map[string]struct {
		system base.System
		says   []string
	}{
		"no release":            {base.System{Passwd: root, Group: groups}, []string{"no /etc/os-release"}},
		"Alpine":                {base.System{Passwd: root, Group: groups, OSRelease: "NAME=\"Alpine Linux\"\nID=alpine\nPRETTY_NAME=\"Alpine Linux v3.22\"\n"}, []string{"Alpine Linux v3.22", "Debian or Ubuntu"}},
		"unnamed":               {base.System{OSRelease: "VERSION=1\n"}, []string{"unnamed system"}},
		"uid of another":        {base.System{Passwd: root + "ubuntu:x:1000:1000:Ubuntu:/home/ubuntu:/bin/bash\n", Group: groups, OSRelease: debian}, []string{`user "ubuntu" has uid 1000`, "userdel --remove ubuntu"}},
		"user with another uid": {base.System{Passwd: root + "datalayer:x:1001:100::/home/datalayer:/bin/sh\n", Group: groups, OSRelease: debian}, []string{"user datalayer is 1001:100", "1000:100"}},
		"user of another group": {base.System{Passwd: root + "datalayer:x:1000:1000::/home/datalayer:/bin/sh\n", Group: groups, OSRelease: debian}, []string{"user datalayer is 1000:1000"}},
		"user elsewhere":        {base.System{Passwd: root + "datalayer:x:1000:100::/srv:/bin/sh\n", Group: groups, OSRelease: debian}, []string{"home /srv", "/home/datalayer"}},
		"name of the group":     {base.System{Passwd: root, Group: "users:x:985:\n", OSRelease: debian}, []string{"no group 100", "users", "985"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.system.Check()
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, phrase := range test.says {
				if !strings.Contains(err.Error(), phrase) {
					t.Errorf("%q is not in %q", phrase, err)
				}
			}
		})
	}
}
