#!/usr/bin/env bash
# Makes the root file system of the base image on the lines of sandbox-contract/v1: a tar of Debian trixie with
# Python 3.13, pip and tini, and user datalayer 1000:100. Usage: base-root.sh OUT.tar
# python3-dateutil is there so that a lock with pandas meets a package that apt owns.
set -euo pipefail

# The hooks are for mmdebstrap's own shell, which knows the new root as $1.
# shellcheck disable=SC2016
exec "$(dirname "${BASH_SOURCE[0]}")/debian-root.sh" "$1" python3.13,python3,python3-pip,python3-dateutil,tini,ca-certificates \
  --customize-hook='chroot "$1" useradd --uid 1000 --gid 100 --home-dir /home/datalayer --create-home --shell /bin/bash datalayer' \
  --customize-hook='chroot "$1" install -d -o 1000 -g 100 -m 0755 /home/datalayer/content' \
  --customize-hook='chroot "$1" install -d -o 0 -g 0 -m 0755 /opt/datalayer'
