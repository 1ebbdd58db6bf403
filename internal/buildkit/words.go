package buildkit

import "github.com/datalayer/terraform-provider-datalayer/internal/problem"

// words are what a person who asked for the content calls its parts.
type words struct {
	// parent begins the title of a problem with the image that the content is made on.
	parent string
	// base, lock and apt are attributes: of the image made on, of the lock, of Debian packages.
	base, lock, apt string
	// wanted says what that image has to be.
	wanted string
}

func (r Request) words() words {
	if r.BaseImage != nil {
		return words{parent: "Parent image", base: "from", lock: "kernel_lock", apt: "from",
			wanted: "A base is made on Debian or Ubuntu: with python = \"image\" one that has CPython, python3 and pip on the PATH; with python = \"apt\" one that has none of its own."}
	}
	return words{parent: "Base image", base: "base", lock: "lock", apt: "apt_packages",
		wanted: "A base satisfies sandbox-contract/v1: Debian with CPython, python3 and pip on the PATH, user datalayer (1000:100)."}
}

// ofLock puts what the lock's own room says of a lock to the attribute that holds it.
func (w words) ofLock(err error) error { return problem.Moved(err, "lock", w.lock) }
