package credential

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// maxPolicy is the most characters that STS takes for an inline session policy.
const maxPolicy = 2048

// iamActions is what each action is in IAM, without the prefix "ecr:". The right to ask for a login token, which names no
// repository, comes with every policy.
var iamActions = map[Action][]string{
	Pull:     {"BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer"},
	Push:     {"BatchCheckLayerAvailability", "BatchGetImage", "CompleteLayerUpload", "InitiateLayerUpload", "PutImage", "UploadLayerPart"},
	Delete:   {"BatchDeleteImage", "BatchGetImage"},
	Describe: {"DescribeImages"},
}

// repositoryName is what a path may hold: nothing that a policy reads as a pattern or a variable.
var repositoryName = lazyregexp.New(`^[a-z0-9][a-z0-9._/-]*$`)

type policyStatement struct {
	Effect, Action, Resource any
}

// sessionPolicy allows the union of the grants in the host's registry, and nothing else. Grants that come to the same are
// the same text, whatever their order.
func sessionPolicy(host ECRHost, grants []Grant) (string, error) {
	allowed := map[string]map[string]bool{}
	for _, g := range grants {
		if len(g.Repository) > 256 || !repositoryName.MatchString(g.Repository) {
			return "", &problem.Problem{Title: "Repository cannot be written into a policy", Object: fmt.Sprintf("%q", g.Repository),
				Advice: "ECR's names are 2 to 256 lower-case letters, digits, \".\", \"_\", \"-\" and \"/\"."}
		}
		if allowed[g.Repository] == nil {
			allowed[g.Repository] = map[string]bool{}
		}
		for _, action := range g.Actions {
			if iamActions[action] == nil {
				return "", fmt.Errorf("no IAM action is known for %q", action)
			}
			for _, name := range iamActions[action] {
				allowed[g.Repository]["ecr:"+name] = true
			}
		}
	}
	// Repositories of which the same is allowed share a statement.
	together := map[string][]string{}
	for _, repository := range slices.Sorted(maps.Keys(allowed)) {
		if actions := strings.Join(slices.Sorted(maps.Keys(allowed[repository])), " "); actions != "" {
			together[actions] = append(together[actions], host.ARN(repository))
		}
	}
	statements := []policyStatement{{"Allow", "ecr:GetAuthorizationToken", "*"}}
	for _, actions := range slices.Sorted(maps.Keys(together)) {
		statements = append(statements, policyStatement{"Allow", oneOrAll(strings.Fields(actions)), oneOrAll(together[actions])})
	}
	text, err := json.Marshal(struct {
		Version   string
		Statement []policyStatement
	}{"2012-10-17", statements})
	if err != nil {
		return "", err
	}
	if len(text) > maxPolicy {
		return "", &problem.Problem{Title: "Session policy would be too long", Object: fmt.Sprintf("%d repositories of account %s in %s", len(allowed), host.Account, host.Region),
			Cause:  fmt.Errorf("it has %d characters, and STS takes %d", len(text), maxPolicy),
			Advice: "Use fewer repositories of this registry at once (cache.import of a build and grants of an ephemeral login are lists), or shorter names. The policy names each one: it is never widened to fit."}
	}
	return string(text), nil
}

// oneOrAll is the shorter form where there is one value only.
func oneOrAll(values []string) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}
