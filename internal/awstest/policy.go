package awstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// policy is a session policy. It knows Allow, and "*" at the end of an action or a resource.
type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Effect           string
	Action, Resource texts
}

// texts is one string or a list of them.
type texts []string

func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// parsePolicy reads the text of a policy; an empty one is none, which allows all that the role does.
func parsePolicy(text string) (*policy, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // No policy is what it says.
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var p policy
	if err := decoder.Decode(&p); err != nil {
		return nil, err
	}
	if p.Version != "2012-10-17" || len(p.Statement) == 0 {
		return nil, errors.New("the policy failed legacy parsing")
	}
	for _, s := range p.Statement {
		if s.Effect != "Allow" || len(s.Action) == 0 || len(s.Resource) == 0 {
			return nil, fmt.Errorf("a statement is not understood: %+v", s)
		}
	}
	return &p, nil
}

func (p *policy) allows(action, resource string) bool {
	return p == nil || slices.ContainsFunc(p.Statement, func(s statement) bool {
		return slices.ContainsFunc(s.Action, func(a string) bool { return matches(a, action) }) &&
			slices.ContainsFunc(s.Resource, func(r string) bool { return matches(r, resource) })
	})
}

func matches(pattern, value string) bool {
	if beginning, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(value, beginning)
	}
	return pattern == value
}
