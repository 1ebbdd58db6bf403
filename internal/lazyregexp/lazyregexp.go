// Package lazyregexp has regular expressions that are compiled at their first use. Terraform starts the provider several
// times in one command, often for its schema alone, and package variables of compiled expressions are paid at each start.
// Of the methods of regexp.Regexp it has those that the project uses. Pure.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression of package regexp. It is safe for concurrent use.
type Regexp struct {
	pattern string
	once    sync.Once
	regexp  *regexp.Regexp
}

// New keeps a pattern. One that cannot be compiled panics at its first use: a test of the project compiles all literals.
func New(pattern string) *Regexp { return &Regexp{pattern: pattern} }

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.regexp = regexp.MustCompile(r.pattern) })
	return r.regexp
}

// MatchString is regexp.Regexp.MatchString, and so on below.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindString gives the leftmost match, or "".
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindStringIndex gives where the leftmost match begins and ends, or nil.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindStringSubmatch gives the leftmost match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllString gives at most n matches, all if n is negative.
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// FindAllStringIndex gives where at most n matches begin and end, all if n is negative.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch gives at most n matches with their groups, all if n is negative.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// ReplaceAllString replaces all matches; $1 in replacement is the first group.
func (r *Regexp) ReplaceAllString(s, replacement string) string {
	return r.compiled().ReplaceAllString(s, replacement)
}

// Split cuts s at the matches into at most n parts, into all if n is negative.
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
