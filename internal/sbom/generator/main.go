// Command generator is a scanner for BuildKit's SBOM protocol: it writes the SPDX document of every root file system that
// BUILDKIT_SCAN_SOURCE and BUILDKIT_SCAN_SOURCE_EXTRAS name into BUILDKIT_SCAN_DESTINATION. The time of creation is now,
// or what SOURCE_DATE_EPOCH says, which BuildKit passes on as BUILDKIT_SCAN_SOURCE_DATE_EPOCH with
// attest:sbom=generator=…,SOURCE_DATE_EPOCH=….
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/datalayer/terraform-provider-datalayer/internal/sbom"
)

func main() {
	logger := log.New(os.Stderr, "sbom generator: ", 0)
	if err := run(os.Getenv, time.Now, logger); err != nil {
		logger.Fatal(err)
	}
}

func run(getenv func(string) string, now func() time.Time, logger *log.Logger) error {
	source, destination := getenv("BUILDKIT_SCAN_SOURCE"), getenv("BUILDKIT_SCAN_DESTINATION")
	if source == "" || destination == "" {
		return errors.New("BUILDKIT_SCAN_SOURCE and BUILDKIT_SCAN_DESTINATION must be set: this is run by BuildKit")
	}
	created, err := creation(getenv, now)
	if err != nil {
		return err
	}
	sources := []string{source}
	if extras := getenv("BUILDKIT_SCAN_SOURCE_EXTRAS"); extras != "" {
		entries, err := os.ReadDir(extras)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			sources = append(sources, filepath.Join(extras, entry.Name()))
		}
	}
	for _, source := range sources {
		if err := generate(source, destination, created, logger); err != nil {
			return fmt.Errorf("scan %s: %w", source, err)
		}
	}
	return nil
}

func creation(getenv func(string) string, now func() time.Time) (time.Time, error) {
	epoch := cmp.Or(getenv("BUILDKIT_SCAN_SOURCE_DATE_EPOCH"), getenv("SOURCE_DATE_EPOCH"))
	if epoch == "" {
		return now(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", epoch)
	}
	return time.Unix(seconds, 0), nil
}

func generate(source, destination string, created time.Time, logger *log.Logger) error {
	root, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	inventory, err := sbom.Scan(root.FS())
	if err != nil {
		return err
	}
	name := filepath.Base(source)
	for _, skipped := range inventory.Skipped {
		logger.Printf("%s: not listed: %s", name, skipped)
	}
	logger.Printf("%s: %d packages listed, %d things not listed", name, len(inventory.Packages), len(inventory.Skipped))
	document, err := sbom.NewDocument(name, inventory, created)
	if err != nil {
		return err
	}
	statement, err := document.Statement()
	if err != nil {
		return err
	}
	return write(filepath.Join(destination, name+".spdx.json"), statement)
}

// write makes a new file: two sources of one name are a mistake.
func write(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}
