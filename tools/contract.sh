#!/usr/bin/env bash
# Lets the services' own SDKs and command lines, versions locked, drive the stand-ins for the services that the tests
# use. Says which calls each made and which routes they reached; a client that cannot be installed is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go run -buildvcs=false ./internal/e2b/e2btest/contract
