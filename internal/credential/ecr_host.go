package credential

import (
	"regexp"
	"strings"
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

// partition is where AWS's endpoints have one form of name. regions is what the names of its regions look like.
type partition struct {
	name              string
	suffix, dualStack string
	regions           *regexp.Regexp
}

// partitions as AWS's SDKs list them (partitions.json). Two of them share a suffix, so the region decides.
var partitions = []partition{
	{"aws-us-gov", "amazonaws.com", "on.aws", regexp.MustCompile(`^us-gov-[a-z]+-\d{1,2}$`)},
	{"aws-cn", "amazonaws.com.cn", "on.amazonwebservices.com.cn", regexp.MustCompile(`^cn-[a-z]+-\d{1,2}$`)},
	{"aws-iso", "c2s.ic.gov", "", regexp.MustCompile(`^us-iso-[a-z]+-\d{1,2}$`)},
	{"aws-iso-b", "sc2s.sgov.gov", "", regexp.MustCompile(`^us-isob-[a-z]+-\d{1,2}$`)},
	{"aws-iso-e", "cloud.adc-e.uk", "", regexp.MustCompile(`^eu-isoe-[a-z]+-\d{1,2}$`)},
	{"aws-iso-f", "csp.hci.ic.gov", "", regexp.MustCompile(`^us-isof-[a-z]+-\d{1,2}$`)},
	{"aws-eusc", "amazonaws.eu", "on.amazonwebservices.eu", regexp.MustCompile(`^eusc-[a-z]{2}-[a-z]+-\d{1,2}$`)},
	{"aws", "amazonaws.com", "on.aws", regexp.MustCompile(`^(?:us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d{1,2}$`)},
}

var (
	ecrPrefix     = regexp.MustCompile(`^(\d{12})\.dkr\.ecr(-fips)?\.([a-z0-9-]+)\.(.+)$`)
	ecrDualPrefix = regexp.MustCompile(`^(\d{12})\.dkr-ecr(-fips)?\.([a-z0-9-]+)\.(.+)$`)
)

// ParseECRHost recognises the host of a private registry, as reference.ParseHost gives it, in every partition:
//
//	111122223333.dkr.ecr.eu-west-1.amazonaws.com
//	111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com
//	111122223333.dkr-ecr.eu-west-1.on.aws
//
// Every other name, one with a port or with more before or after it too, is no registry of ECR: it must never see a token.
func ParseECRHost(host string) (ECRHost, bool) {
	for _, form := range []struct {
		pattern   *regexp.Regexp
		dualStack bool
	}{{ecrPrefix, false}, {ecrDualPrefix, true}} {
		found := form.pattern.FindStringSubmatch(strings.ToLower(host))
		if found == nil {
			continue
		}
		for _, p := range partitions {
			suffix := p.suffix
			if form.dualStack {
				suffix = p.dualStack
			}
			if found[4] == suffix && suffix != "" && p.regions.MatchString(found[3]) {
				return ECRHost{Account: found[1], Region: found[3], Partition: p.name, FIPS: found[2] != "", DualStack: form.dualStack}, true
			}
		}
	}
	return ECRHost{}, false
}

// ARN names a repository of the registry.
func (h ECRHost) ARN(repository string) string {
	return "arn:" + h.Partition + ":ecr:" + h.Region + ":" + h.Account + ":repository/" + repository
}
