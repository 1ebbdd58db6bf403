package credential

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/lazyregexp"
)

// Marker is the name of a credential or sandbox that outlives us if we are killed: it says that it is ours, what it is
// for, and from when on nobody needs it.
type Marker struct {
	// Purpose is 1 to 16 lower-case letters and digits: "registry".
	Purpose   string
	ExpiresAt time.Time
	// Nonce is 8 hexadecimal digits.
	Nonce string
}

// NewMarker draws a nonce.
func NewMarker(purpose string, expiresAt time.Time) Marker {
	var nonce [4]byte
	_, _ = rand.Read(nonce[:]) // It never fails: the runtime ends the program instead.
	return Marker{Purpose: purpose, ExpiresAt: expiresAt.UTC().Truncate(time.Second), Nonce: hex.EncodeToString(nonce[:])}
}

const markerTime = "20060102t150405z"

var markerPattern = lazyregexp.New(`^dl-([a-z0-9]{1,16})-(\d{8}t\d{6}z)-([0-9a-f]{8})$`)

// String is "dl-registry-20261130t221500z-1a2b3c4d": at most 45 lower-case letters, digits and hyphens, which every service takes
// for a name, the session names of STS among them.
func (m Marker) String() string {
	return "dl-" + m.Purpose + "-" + m.ExpiresAt.UTC().Format(markerTime) + "-" + m.Nonce
}

// ParseMarker reads a name; ok tells whether it is one of ours.
func ParseMarker(name string) (m Marker, ok bool) {
	parts := markerPattern.FindStringSubmatch(name)
	if parts == nil {
		return Marker{}, false
	}
	at, err := time.Parse(markerTime, parts[2])
	return Marker{Purpose: parts[1], ExpiresAt: at, Nonce: parts[3]}, err == nil
}
