package buildkit

import (
	"strings"
	"testing"

	"github.com/datalayer/terraform-provider-datalayer/internal/base"
)

// Whoever builds a base wrote no lock that could be at fault.
func TestIndexOfTheParentsPipIsTheKernelStacks(t *testing.T) {
	const refused = "WARNING: Retrying after connection broken by 'NewConnectionError(Connection refused)': /simple/ipykernel/"
	const untrusted = "Could not fetch URL https://pypi.org/simple/ipykernel/: There was a problem confirming the ssl certificate: SSLCertVerificationError"
	for log, title := range map[string]string{
		refused:   "Index of the base's pip cannot be reached",
		untrusted: "Certificate of the index of the base's pip is not trusted",
	} {
		for kind, spec := range map[string]*base.Spec{"the pip of from": {}, "the lock is not at fault": nil} {
			found := buildFailure{request: Request{BaseImage: spec}, daemon: &Daemon{}}.foreignIndexProblem(log, "ipykernel")
			if found == nil || found.Title != title || !strings.Contains(found.Advice, kind) || strings.Contains(found.Advice, "lock is not at fault") != (spec == nil) {
				t.Errorf("%s: got %+v, want %q and %q", log, found, title, kind)
			}
		}
	}
}
