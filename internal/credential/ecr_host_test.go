package credential

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/reference"
)

func TestECRHostsOfEveryPartition(t *testing.T) {
	for host, want := range map[string]ECRHost{
		"111122223333.dkr.ecr.eu-west-1.amazonaws.com":                {"111122223333", "eu-west-1", "aws", false, false},
		"000000000001.dkr.ecr.ap-southeast-7.amazonaws.com":           {"000000000001", "ap-southeast-7", "aws", false, false},
		"111122223333.dkr.ecr-fips.us-east-2.amazonaws.com":           {"111122223333", "us-east-2", "aws", true, false},
		"111122223333.dkr-ecr.mx-central-1.on.aws":                    {"111122223333", "mx-central-1", "aws", false, true},
		"111122223333.dkr-ecr-fips.us-west-2.on.aws":                  {"111122223333", "us-west-2", "aws", true, true},
		"111122223333.dkr.ecr.us-gov-west-1.amazonaws.com":            {"111122223333", "us-gov-west-1", "aws-us-gov", false, false},
		"111122223333.dkr.ecr-fips.us-gov-east-1.amazonaws.com":       {"111122223333", "us-gov-east-1", "aws-us-gov", true, false},
		"111122223333.dkr-ecr.us-gov-east-1.on.aws":                   {"111122223333", "us-gov-east-1", "aws-us-gov", false, true},
		"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn":            {"111122223333", "cn-north-1", "aws-cn", false, false},
		"111122223333.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn": {"111122223333", "cn-north-1", "aws-cn", false, true},
		"111122223333.dkr.ecr.us-iso-east-1.c2s.ic.gov":               {"111122223333", "us-iso-east-1", "aws-iso", false, false},
		"111122223333.dkr.ecr.us-isob-east-1.sc2s.sgov.gov":           {"111122223333", "us-isob-east-1", "aws-iso-b", false, false},
		"111122223333.dkr.ecr.eu-isoe-west-1.cloud.adc-e.uk":          {"111122223333", "eu-isoe-west-1", "aws-iso-e", false, false},
		"111122223333.dkr.ecr.us-isof-south-1.csp.hci.ic.gov":         {"111122223333", "us-isof-south-1", "aws-iso-f", false, false},
		"111122223333.dkr.ecr.eusc-de-east-1.amazonaws.eu":            {"111122223333", "eusc-de-east-1", "aws-eusc", false, false},
	} {
		got, ok := ParseECRHost(host)
		if !ok || got != want {
			t.Errorf("%s: got %+v, %t", host, got, ok)
		}
	}
}

// lookAlikes are names that somebody else may own, or that no registry of ECR has.
var lookAlikes = []string{
	"", PublicECR, "dkr.ecr.eu-west-1.amazonaws.com", "11112222333.dkr.ecr.eu-west-1.amazonaws.com", "1111222233334.dkr.ecr.eu-west-1.amazonaws.com",
	"111122223333.dkr.ecr.eu-west-1.amazonaws.com.evil.example", "111122223333.dkr.ecr.eu-west-1.amazonaws.com.cn", "111122223333.dkr.ecr.eu-west-1.amazonaws.co",
	"111122223333.dkr.ecr.eu-west-1.evil.amazonaws.com", "111122223333.dkr.ecr.eu-west-1.amazonaws.com:8443", "x111122223333.dkr.ecr.eu-west-1.amazonaws.com",
	"evil.111122223333.dkr.ecr.eu-west-1.amazonaws.com", "111122223333.dkr.ecr.eu-west-1-amazonaws.com", "111122223333-dkr-ecr.eu-west-1.amazonaws.com",
	"111122223333.dkr.ecr.eu-west-1.on.aws", "111122223333.dkr-ecr.eu-west-1.amazonaws.com", "111122223333.dkr-ecr.eu-west-1.on.aws.evil.example",
	"111122223333.dkr.ecr.cn-north-1.amazonaws.com", "111122223333.dkr.ecr.us-gov-west-1.amazonaws.com.cn", "111122223333.dkr.ecr.eu-west-1.c2s.ic.gov",
	"111122223333.dkr.ecr..amazonaws.com", "111122223333.dkr.ecr.eu-west-1.amazonaws.com.", "111122223333.dkr.ecr-fipsy.us-east-1.amazonaws.com",
	"111122223333.dkr.ecr.us-east-1x.amazonaws.com", "111122223333.dkr.ecr.eu-west-1.amazonaws.com\n", "１１1122223333.dkr.ecr.eu-west-1.amazonaws.com",
	"111122223333.dkr.ecr.eu-west-1.c2s.ic.gov.", "111122223333.dkrxecr.eu-west-1.amazonaws.com", "111122223333.dkr.ecr.us-iso-east-1.amazonaws.com",
}

func TestLookAlikesAreNotECR(t *testing.T) {
	for _, host := range lookAlikes {
		if got, ok := ParseECRHost(host); ok {
			t.Errorf("%q was taken for %+v", host, got)
		}
	}
}

func FuzzECRHost(f *testing.F) {
	for _, host := range append(lookAlikes, "111122223333.dkr.ecr.eu-west-1.amazonaws.com", "111122223333.dkr-ecr-fips.us-west-2.on.aws", "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn") {
		f.Add(host)
	}
	owners := []string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".on.aws", ".on.amazonwebservices.com.cn", ".on.amazonwebservices.eu", ".c2s.ic.gov", ".sc2s.sgov.gov", ".cloud.adc-e.uk", ".csp.hci.ic.gov"}
	f.Fuzz(func(t *testing.T, host string) {
		got, ok := ParseECRHost(host)
		if !ok {
			return
		}
		lower := strings.ToLower(host)
		// What is put together from the parts must be the host itself: nothing stood before, between or behind them.
		service := map[bool]string{false: ".dkr.ecr", true: ".dkr-ecr"}[got.DualStack]
		if got.FIPS {
			service += "-fips"
		}
		start := got.Account + service + "." + got.Region
		suffix, found := strings.CutPrefix(lower, start)
		owned := false
		for _, owner := range owners {
			owned = owned || suffix == owner
		}
		if !found || !owned || len(got.Account) != 12 || strings.Trim(got.Account, "0123456789") != "" {
			t.Errorf("%q was read as %+v", host, got)
		}
		if parsed, err := reference.ParseHost(host); err != nil || parsed != lower {
			t.Errorf("%q is ECR, but as a host it is %q, %v", host, parsed, err)
		}
		if strings.ContainsAny(got.ARN("a"), `"\*?${}`) {
			t.Errorf("%q makes the ARN %q", host, got.ARN("a"))
		}
	})
}
