package credential

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/awstest"
	"github.com/datalayer/terraform-provider-datalayer/internal/enginetest"
)

// A region belongs to a partition: for a registry of another one its own region is asked, with what is known there.
func TestTheRegionOfOnePartitionIsNotAskedForAnother(t *testing.T) {
	c := newCloud(t)
	var asked []string
	c.Choose = func(_ awstest.Call, r *http.Request) *enginetest.FaultResponse {
		asked = append(asked, r.Host)
		return nil
	}
	for host, want := range map[string]string{
		account + ".dkr.ecr.us-gov-west-1.amazonaws.com": "sts.us-gov-west-1.amazonaws.com", awstest.Host(account, "us-east-1"): "sts.eu-west-1.amazonaws.com",
	} {
		asked = nil
		// Without a role the warning asks STS whose keys they are.
		_, err := c.resolver(AWSOptions{Default: &Identity{}, Region: "eu-west-1"}).Acquire(t.Context(), host, nil)
		must(t, err)
		if !slices.Contains(asked, want) || slices.ContainsFunc(asked, func(name string) bool { return strings.HasPrefix(name, "sts.") && name != want }) {
			t.Errorf("%s: asked %q, want %s", host, asked, want)
		}
	}
}
