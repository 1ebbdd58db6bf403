package credential

import (
	"fmt"
	"strings"

	"github.com/datalayer/terraform-provider-datalayer/internal/problem"
)

// ECRHost is what the host name of a private registry of Amazon ECR says.
type ECRHost struct {
	// Account owns the registry, Region is where it is, Partition is "aws", "aws-cn", "aws-us-gov" and so on.
	Account, Region, Partition string
	// FIPS and DualStack tell which of the endpoints the host is.
	FIPS, DualStack bool
}

// PublicECR is the host of Amazon ECR's public gallery. It answers without a login, and a private registry's token opens
// nothing there.
const PublicECR = "public.ecr.aws"

// partition is where AWS's endpoints have one form of name. regions is what the names of its regions begin with.
type partition struct {
	name              string
	suffix, dualStack string
	regions           []string
}

// partitions as AWS's SDKs list them (partitions.json). Two of them share a suffix, so the region decides: where a name
// begins as those of two partitions do, the first is meant.
var partitions = []partition{
	{"aws-us-gov", "amazonaws.com", "on.aws", []string{"us-gov"}},
	{"aws-iso", "c2s.ic.gov", "", []string{"us-iso"}},
	{"aws-iso-b", "sc2s.sgov.gov", "", []string{"us-isob"}},
	{"aws-iso-e", "cloud.adc-e.uk", "", []string{"eu-isoe"}},
	{"aws-iso-f", "csp.hci.ic.gov", "", []string{"us-isof"}},
	{"aws-cn", "amazonaws.com.cn", "on.amazonwebservices.com.cn", []string{"cn"}},
	{"aws-eusc", "amazonaws.eu", "on.amazonwebservices.eu", []string{"eusc-de"}},
	{"aws", "amazonaws.com", "on.aws", []string{"us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"}},
}

// has tells whether a region's name is one of the partition's: one of its beginnings, a direction and a number.
func (p partition) has(region string) bool {
	for _, beginning := range p.regions {
		rest, found := strings.CutPrefix(region, beginning+"-")
		direction, number, parted := strings.Cut(rest, "-")
		if found && parted && consists(direction, 'a', 'z') && consists(number, '0', '9') && len(number) <= 2 {
			return true
		}
	}
	return false
}

// consists tells whether a text has characters of this range, and no others.
func consists(text string, first, last rune) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < first || r > last })
}

// ParseECRHost recognises the host of a private registry, as reference.ParseHost gives it, in every partition:
//
//	111122223333.dkr.ecr.eu-west-1.amazonaws.com
//	111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com
//	111122223333.dkr-ecr.eu-west-1.on.aws
//
// Every other name, one with a port or with more before or after it too, is no registry of ECR: it must never see a token.
func ParseECRHost(host string) (ECRHost, bool) {
	account, rest, _ := strings.Cut(strings.ToLower(host), ".")
	if len(account) != 12 || !consists(account, '0', '9') {
		return ECRHost{}, false
	}
	at := ECRHost{Account: account}
	service, rest, found := strings.Cut(rest, ".")
	if service == "dkr" && found {
		service, rest, found = strings.Cut(rest, ".")
	} else {
		at.DualStack = true
		service, found = strings.CutPrefix(service, "dkr-")
	}
	service, at.FIPS = strings.CutSuffix(service, "-fips")
	region, domain, parted := strings.Cut(rest, ".")
	if !found || !parted || service != "ecr" {
		return ECRHost{}, false
	}
	for _, p := range partitions {
		suffix := p.suffix
		if at.DualStack {
			suffix = p.dualStack
		}
		if suffix != "" && domain == suffix && p.has(region) {
			at.Region, at.Partition = region, p.name
			return at, true
		}
	}
	return ECRHost{}, false
}

// partitionOf is the name of the partition that a region is in; "" if it is in none that is known.
func partitionOf(region string) string {
	for _, p := range partitions {
		if p.has(region) {
			return p.name
		}
	}
	return ""
}

// CheckRole refuses a role of another partition than the registry's: partitions share no identities.
func (h ECRHost) CheckRole(role string) error {
	parts := strings.Split(role, ":")
	if len(parts) < 2 || parts[1] == h.Partition {
		return nil
	}
	return &problem.Problem{Title: "AWS role of another partition", Object: fmt.Sprintf("%s, for account %s in %s", role, h.Account, h.Region),
		Advice: fmt.Sprintf("The registry is in the partition %s, and no identity of %s can be used there. Give registries[host].ecr (or base_registry) a role of %s, and a profile whose keys are of that partition.", h.Partition, parts[1], h.Partition)}
}

// ARN names a repository of the registry.
func (h ECRHost) ARN(repository string) string {
	return "arn:" + h.Partition + ":ecr:" + h.Region + ":" + h.Account + ":repository/" + repository
}
