#!/usr/bin/env bash
# Makes the root file system of a plain Debian image: a tar of Debian trixie with apt and no more, as the images of
# Docker Official are. No Python, no tini, no user. Usage: plain-root.sh OUT.tar
set -euo pipefail

exec "$(dirname "${BASH_SOURCE[0]}")/debian-root.sh" "$1" ""
