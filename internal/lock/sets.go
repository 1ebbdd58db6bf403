package lock

import "fmt"

// markerSets has the names that are in each set of PEP 751: "extras" and "dependency_groups".
type markerSets map[string]map[string]bool

// parsePylockMarker reads a marker that may also ask whether a literal is in one of the sets. They are known, so such a
// term has its value at once, and decides the "and" or "or" that it is in or vanishes from it.
func parsePylockMarker(text string, sets markerSets) (*marker, error) {
	tokens, err := markerTokens(text)
	if err != nil {
		return nil, err
	}
	p := markerParser{tokens: tokens, sets: sets}
	m, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.next < len(p.tokens) {
		return nil, fmt.Errorf("%q is out of place", p.peek())
	}
	return m, nil
}

// membership gives the value of `'name' in set`; nil and no error when neither side is a set.
func (s markerSets) membership(left, op, right string) (*marker, error) {
	set, ok := s[right]
	if ok && isLiteral(left) && (op == "in" || op == "not in") {
		return &marker{constant: truthOf(set[NormalName(unquoted(left))] == (op == "in"))}, nil
	}
	for _, side := range []string{left, right} {
		if _, ok := s[side]; ok {
			return nil, fmt.Errorf("%s is a set, of which only `'name' in %s` can be asked", side, side)
		}
	}
	return nil, nil
}
