package buildkit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/environment"
)

// TestTriggerRunsTheNetworkedStepsAnew has a command that makes something else at each run, and one without a network before it.
func TestTriggerRunsTheNetworkedStepsAnew(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	const draw = "cat /proc/sys/kernel/random/uuid > "
	request.Spec.PostInstall = []environment.Command{
		{Command: draw + "cut # " + time.Now().String()},
		{Command: "test ! -e /run/secrets/datalayer-rebuild-trigger && " + draw + "networked", Network: new(true)},
	}
	drawn := func(trigger string) (cut, networked string) {
		t.Helper()
		request.RebuildTrigger = trigger
		published, err := b.publish(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Fields(b.in(t, request, published, "cd /home/datalayer/content && cat cut networked"))
		if len(said) != 2 {
			t.Fatalf("the image holds %q", said)
		}
		return said[0], said[1]
	}
	cut, networked := drawn("")
	if again, sameAgain := drawn(""); again != cut || sameAgain != networked {
		t.Error("a step ran anew without a trigger")
	}
	triggered, first := drawn("1")
	if triggered != cut || first == networked {
		t.Errorf("with a trigger the commands drew %s and %s, before %s and %s; only the networked one is to run", triggered, first, cut, networked)
	}
	if _, second := drawn("2"); second == first || second == networked {
		t.Error("another trigger took the networked step from the cache")
	}
	if _, back := drawn("1"); back != first {
		t.Error("the same trigger did not take the step from the cache")
	}
}

func TestTriggerIsInNoImage(t *testing.T) {
	b := newBench(t)
	request := b.request(t, "")
	request.Spec.PostInstall = []environment.Command{{Command: "env | grep -v TRACEPARENT | sort > variables; ls -A /run /run/secrets > found 2>&1; true", Network: new(true)}}
	manifests := map[string]bool{}
	for _, trigger := range []string{"", "1", "2"} {
		request.RebuildTrigger = trigger
		published, err := b.publish(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		manifests[published.Image.Manifests[environment.DefaultPlatform]] = true
	}
	if len(manifests) != 1 {
		t.Errorf("equal content has the manifests %v", manifests)
	}
}
