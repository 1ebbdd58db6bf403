package reference

import "github.com/datalayer/terraform-provider-datalayer/internal/problem"

// ParseNamed reads a reference that says which image of its repository is meant, by tag, by digest or by both (the
// digest decides). Neither is an error: "latest" is never guessed.
func ParseNamed(s string) (Reference, error) {
	ref, err := Parse(s)
	if err != nil {
		return Reference{}, err
	}
	if ref.Tag == "" && ref.Digest == "" {
		return Reference{}, &problem.Problem{
			Title: "Image reference without a tag or digest", Object: s,
			Advice: "No tag is guessed: write " + quote(s+":latest") + " if that is meant, or pin by digest: " + ref.Repository.String() + "@sha256:… .",
		}
	}
	return ref, nil
}
