package credential

import (
	"strings"
	"testing"
)

var euWest = ECRHost{Account: "111122223333", Region: "eu-west-1", Partition: "aws"}

func TestAPolicyIsTheUnionOfTheGrants(t *testing.T) {
	const token = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ecr:GetAuthorizationToken","Resource":"*"}`
	const pull = `"Action":["ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer"]`
	const arn = "arn:aws:ecr:eu-west-1:111122223333:repository/"
	for name, tt := range map[string]struct {
		grants []Grant
		want   string
	}{
		"nothing":  {nil, token + `]}`},
		"describe": {[]Grant{{"a", []Action{Describe}}}, token + `,{"Effect":"Allow","Action":"ecr:DescribeImages","Resource":"` + arn + `a"}]}`},
		"pull":     {[]Grant{{"base/py", []Action{Pull}}}, token + `,{"Effect":"Allow",` + pull + `,"Resource":"` + arn + `base/py"}]}`},
		"two of a kind": {[]Grant{{"b", []Action{Pull}}, {"a", []Action{Pull}}, {"b", []Action{Pull}}},
			token + `,{"Effect":"Allow",` + pull + `,"Resource":["` + arn + `a","` + arn + `b"]}]}`},
		"push": {[]Grant{{"t", []Action{Push}}},
			token + `,{"Effect":"Allow","Action":["ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:CompleteLayerUpload","ecr:InitiateLayerUpload","ecr:PutImage","ecr:UploadLayerPart"],"Resource":"` + arn + `t"}]}`},
		"destroy": {[]Grant{{"t", []Action{Delete}}, {"t", []Action{Describe}}},
			token + `,{"Effect":"Allow","Action":["ecr:BatchDeleteImage","ecr:BatchGetImage","ecr:DescribeImages"],"Resource":"` + arn + `t"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sessionPolicy(euWest, tt.grants)
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// A build with a cache of its own needs four repositories of one registry: base, target, cache and SBOM generator.
func TestTheLongestNamesFit(t *testing.T) {
	longest := ECRHost{Account: "111122223333", Region: "us-isob-northeast-1", Partition: "aws-iso-b"}
	name := func(first string) string { return first + strings.Repeat("x", 255) }
	grants := []Grant{{name("a"), []Action{Pull}}, {name("b"), []Action{Pull, Push, Delete, Describe}}, {name("c"), []Action{Pull, Push}}, {name("d"), []Action{Pull}}}
	policy, err := sessionPolicy(longest, grants)
	if err != nil || len(policy) > maxPolicy {
		t.Errorf("%d characters, %v", len(policy), err)
	}
	t.Logf("four repositories of 256 characters: %d of %d", len(policy), maxPolicy)
	for _, more := range []string{"e", "f", "g"} {
		grants = append(grants, Grant{name(more), []Action{Pull}})
	}
	if _, err = sessionPolicy(longest, grants); err == nil || !strings.Contains(asProblem(t, err).Detail(), "7 repositories of account 111122223333") {
		t.Errorf("got %v", err)
	}
}

func TestNothingThatAPolicyReadsAsAPatternGetsIn(t *testing.T) {
	for _, name := range []string{"", "*", "a*", "a?", "${aws:username}", `a"`, "A", "a b", "/a", strings.Repeat("a", 257)} {
		if policy, err := sessionPolicy(euWest, []Grant{{name, []Action{Pull}}}); err == nil {
			t.Errorf("%q made %s", name, policy)
		}
	}
	if _, err := sessionPolicy(euWest, []Grant{{"a", []Action{"admin"}}}); err == nil {
		t.Error("an unknown action was taken")
	}
}
