package lock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// digits is the length in hex of the digests that hash-checking mode accepts.
var digits = map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}

var (
	word      = lazyregexp.New(`[^ \t]+`)
	hexDigits = lazyregexp.New(`^[0-9a-f]*$`)
)

// hashes reads the options of a requirement, which begin at offset of the logical line, and gives how many --hash there
// are, bad ones included; after any other word it stops, and gives at least 1.
func (p *parser) hashes(r *Requirement, l *logicalLine, offset int, text string) (count int) {
	words := word.FindAllStringIndex(text, -1)
	for i := 0; i < len(words); i++ {
		line := l.at(offset + words[i][0])
		option := text[words[i][0]:words[i][1]]
		value, isHash := strings.CutPrefix(option, "--hash=")
		if option == "--hash" {
			isHash = true
			if i++; i < len(words) {
				value = text[words[i][0]:words[i][1]]
			}
		}
		if !isHash {
			p.notAHash(r, line, option)
			return max(count, 1)
		}
		count++
		hash, why, cause := readHash(value)
		if cause != "" {
			p.report(line, r.Name, why, "%s", cause)
			continue
		}
		r.Hashes = append(r.Hashes, hash)
	}
	slices.Sort(r.Hashes)
	r.Hashes = slices.Compact(r.Hashes)
	return count
}

func (p *parser) notAHash(r *Requirement, line int, option string) {
	if !strings.HasPrefix(option, "-") {
		p.report(line, r.Name, afterHashes, "%s is not an option", shown(option))
		return
	}
	name, _ := refusedOption(option)
	p.report(line, r.Name, lineOption, "%s is not allowed on a requirement", name)
}

func readHash(value string) (hash string, why reason, cause string) {
	algorithm, digest, found := strings.Cut(value, ":")
	if !found {
		return "", malformedHash, fmt.Sprintf("%s is not an algorithm and a digest", shown(value))
	}
	switch algorithm {
	case "sha256", "sha384", "sha512":
	case "md5", "sha1", "sha224":
		return "", weakHash, algorithm + " is not accepted when hashes are required"
	default:
		return "", unknownHash, shown(algorithm) + " is not one of sha256, sha384 and sha512"
	}
	digest = strings.ToLower(digest)
	if len(digest) != digits[algorithm] || !hexDigits.MatchString(digest) {
		return "", malformedHash, fmt.Sprintf("%s is not %d hex digits: it has %d characters", shown(digest), digits[algorithm], len(digest))
	}
	return algorithm + ":" + digest, reason{}, ""
}
