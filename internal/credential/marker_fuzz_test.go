package credential

import (
	"testing"
	"time"
)

func FuzzParseMarker(f *testing.F) {
	f.Add(NewMarker("registry", time.Date(2026, 11, 30, 22, 15, 0, 0, time.UTC)).String())
	f.Add("dl-registry-20261330t221500z-1a2b3c4d")
	f.Add("dl-a-00000229t000000z-00000000")
	f.Fuzz(func(t *testing.T, name string) {
		marker, ours := ParseMarker(name)
		if ours && marker.String() != name {
			t.Errorf("%q was read as %q", name, marker)
		}
	})
}
