package credential

import (
	"regexp"
	"testing"
	"time"
)

func TestAMarkerIsReadBack(t *testing.T) {
	made := NewMarker("registry", time.Date(2026, 11, 30, 23, 15, 0, 999, time.FixedZone("", 3600)))
	read, ok := ParseMarker(made.String())
	if !ok || read != made || !read.ExpiresAt.Equal(time.Date(2026, 11, 30, 22, 15, 0, 0, time.UTC)) {
		t.Errorf("made %v, read %v, %t", made, read, ok)
	}
	longest := Marker{Purpose: "abcdefghijklmnop", ExpiresAt: made.ExpiresAt, Nonce: made.Nonce}
	// STS takes 2 to 64 of these for the name of a session.
	if name := longest.String(); !regexp.MustCompile(`^[\w+=,.@-]{2,64}$`).MatchString(name) || len(name) > 45 {
		t.Errorf("got %q", name)
	}
	if other := NewMarker("registry", made.ExpiresAt); other == made {
		t.Error("two markers are equal")
	}
}

func TestOtherNamesAreNotMarkers(t *testing.T) {
	for _, name := range []string{
		"", "dl-registry", "dl-registry-20261130t221500z-1a2b3c4", "dl-registry-20261130t221500z-1A2B3C4D", "dl-registry-20261330t221500z-1a2b3c4d",
		"xdl-registry-20261130t221500z-1a2b3c4d", "dl-registry-20261130t221500z-1a2b3c4d\n", "dl--20261130t221500z-1a2b3c4d", "dl-a-b-20261130t221500z-1a2b3c4d",
	} {
		if m, ok := ParseMarker(name); ok {
			t.Errorf("%q was read as %v", name, m)
		}
	}
}
