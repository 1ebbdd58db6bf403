package credential

import "slices"

// Actions are all that a Grant can allow.
var Actions = []Action{Pull, Push, Delete, Describe}

// Valid tells whether it is one of Actions.
func (a Action) Valid() bool { return slices.Contains(Actions, a) }
