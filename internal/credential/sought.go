package credential

import (
	"fmt"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

// Sought says to whoever was refused by a host where its login came from, or where one is looked for, and what to set for a
// registry of ECR that AWS was not asked for.
func (r *Resolver) Sought(host string) string {
	host = reference.CanonicalHost(host)
	who, _, ok := r.aws.identity(host, r.uses[host].own)
	if ok && !r.hasLogin(host) {
		asked := "got from AWS with the identity of " + profileName(who.Profile)
		if who.RoleARN != "" {
			asked = "got from AWS with the role " + who.RoleARN
		}
		return fmt.Sprintf("The login is %s: its IAM policies, and the policy of the repository, must both allow this.", asked)
	}
	order := Order(host)
	if _, isECR := ParseECRHost(host); isECR && !r.hasLogin(host) {
		return fmt.Sprintf("%s is a registry of Amazon ECR: set aws = {} in the provider, or registries[%q] = { ecr = {} }, and its login is got with the AWS credentials of the environment. %s", host, host, order)
	}
	return order
}

// Order says where a login for the host is looked for, in which order.
func Order(host string) string {
	places := []string{
		"in the resource's own argument for it, where it has one (registry, base_registry, from_registry)",
		fmt.Sprintf("in the provider's registries[%q] and %s", host, RegistriesVariable),
		"in the Docker configuration (DOCKER_CONFIG or ~/.docker/config.json, credential helpers included)",
	}
	if _, isECR := ParseECRHost(host); isECR {
		places = append(places[:2], "at AWS, where the provider's aws or registries[…].ecr ask for it", places[2])
	}
	return "A login is looked for " + strings.Join(places, ", then ") + "."
}
