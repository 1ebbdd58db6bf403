package credential

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/datalayer/terraform-provider-datalayer/internal/image"
	"github.com/datalayer/terraform-provider-datalayer/internal/secret"
)

func TestNothingPrintsACredential(t *testing.T) {
	const canary = "cnry-print-2"
	login := image.Credential{Username: "AWS", Password: secret.New(canary), RefreshToken: secret.New(canary)}
	keys := &AWSKeys{AccessKeyID: "ASIA", SecretAccessKey: secret.New(canary), SessionToken: secret.New(canary)}
	static := Static{"r.example": login}
	lease := &Lease{Host: "r.example", Login: login, AWS: keys}
	state := awsState{session: aws.Credentials{SecretAccessKey: canary, SessionToken: canary}, login: login}
	source := NewAWS(AWSOptions{})
	source.states[stateKey{}] = &state
	for name, value := range map[string]any{
		"Static": static, "Resolver": NewResolver(static).With("r.example", login).WithAWS(source), "Resolver by value": *NewResolver(static),
		"Lease": lease, "AWSKeys": *keys, "AWS": source, "awsState": state, "awsStates": []awsState{state}, "states": map[string]awsState{"a": state},
		"Keeper": Keeper{}, "Unreleased": Unreleased{Pending: Pending{WorksUntil: time.Now()}}, "Identity": Identity{RoleARN: "arn"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
				printed := fmt.Sprintf(verb, value)
				if strings.Contains(printed, canary) || strings.Contains(printed, fmt.Sprintf("%x", canary)) {
					t.Errorf("%s shows the secret: %s", verb, printed)
				}
			}
		})
	}
}
