package lock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// conditions are what a pylock.toml as a whole asks of its target. They are no part of the canonical form: they decide
// whether the lock may be installed, not what is.
type conditions struct {
	python       *pythonRange
	environments []declared
}

// declared is one of `environments`, as written.
type declared struct {
	text   string
	marker *marker
}

// pythonRange is a requires-python.
type pythonRange struct {
	text  string
	terms []*marker
}

// parsePythonRange reads version specifiers by PEP 440; "" is nil, which allows every Python.
func parsePythonRange(text string) (*pythonRange, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	r := &pythonRange{text: text}
	for one := range strings.SplitSeq(withoutComma(text), ",") {
		parts := specifier.FindStringSubmatch(strings.TrimSpace(one))
		if parts == nil {
			return nil, fmt.Errorf("%s is not a version specifier", shown(one))
		}
		term := &marker{variable: "python_full_version", op: parts[1], literal: parts[2]}
		if err := term.check(); err != nil {
			return nil, fmt.Errorf("%s is not a version specifier", shown(one))
		}
		r.terms = append(r.terms, term)
	}
	return r, nil
}

// excludes says whether the Python is surely outside the range; one that is not known well enough is not. As for pip,
// a pre-release counts as its release.
func (r *pythonRange) excludes(env surroundings) bool {
	if r == nil {
		return false
	}
	full, known := parseVersion(env.values["python_full_version"])
	return slices.ContainsFunc(r.terms, func(term *marker) bool {
		if known {
			return !term.holds(full.BaseVersion())
		}
		return term.evaluate(env) == no
	})
}

// refuse gives a problem for each condition that surely does not hold on the target.
func (c conditions) refuse(env surroundings, target Target) problem.List {
	var problems problem.List
	if c.python.excludes(env) {
		problems = append(problems, &problem.Problem{
			Title:  "Lock for another Python",
			Path:   []any{"lock"},
			Object: target.String(),
			Cause:  fmt.Errorf("the lock's requires-python is %s, and the target's Python is %s", strconv.Quote(c.python.text), target.Python),
			Advice: "Make the lock for this Python, or take a base that has one of the lock's.",
		})
	}
	texts := make([]string, len(c.environments))
	for i, environment := range c.environments {
		if environment.marker.evaluate(env) != no {
			return problems
		}
		texts[i] = strconv.Quote(environment.text)
	}
	if len(texts) > 0 {
		problems = append(problems, &problem.Problem{
			Title:  "Lock for other environments",
			Path:   []any{"lock"},
			Object: target.String(),
			Cause:  fmt.Errorf("none of the lock's environments is %s: %s", target, strings.Join(texts, ", ")),
			Advice: "Make the lock for this target too, or take a platform and a base that it is for.",
		})
	}
	return problems
}

// refuse gives a problem when the package surely does not work with the target's Python.
func (r Requirement) refuse(env surroundings, target Target) problem.List {
	if !r.python.excludes(env) {
		return nil
	}
	return problem.List{{
		Title:  "Locked package for another Python",
		Path:   []any{"lock"},
		Object: place(r.Line, r.Name),
		Cause:  fmt.Errorf("its requires-python is %s, and the Python of %s is not", strconv.Quote(r.python.text), target),
		Advice: "Make the lock for this Python, or take a base that has one of the package's.",
	}}
}
