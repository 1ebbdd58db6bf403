#!/usr/bin/env bash
# Makes a small Debian trixie as a tar, without manual pages, documentation and translations.
# Usage: debian-root.sh OUT.tar PACKAGES [OPTION of mmdebstrap]...   (PACKAGES with commas; "" for none beside the essential ones)
set -euo pipefail

out=$1 packages=$2
shift 2
export SOURCE_DATE_EPOCH=1750000000
exec mmdebstrap --mode=auto --variant=minbase --format=tar ${packages:+--include="$packages"} \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='force-unsafe-io' \
  --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/info/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  "$@" trixie "$out"
