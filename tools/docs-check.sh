#!/usr/bin/env bash
# Checks that docs/ is what tools/docs.sh writes, and that each example is formatted and valid with the provider in bin/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for name in $(compgen -e TF_ || true); do unset "$name"; done

tofu=$(tools/install.sh tofu)
rm -rf bin/docs
trap 'rm -rf bin/docs bin/cli.tfrc' EXIT
tools/docs.sh bin/docs
diff -ru docs bin/docs || {
  echo 'docs-check: docs/ is out of date: run make docs' >&2
  exit 1
}

tools/cli-config.sh "$PWD/bin" >bin/cli.tfrc
export TF_CLI_CONFIG_FILE=$PWD/bin/cli.tfrc
"$tofu" fmt -check -diff -recursive examples
find examples -name '*.tf' -printf '%h\n' | sort -u | while read -r dir; do
  if ! said=$("$tofu" -chdir="$dir" validate -no-color 2>&1); then
    printf 'docs-check: %s is not valid:\n%s\n' "$dir" "$said" >&2
    exit 1
  fi
  echo "docs-check: $dir is valid"
done
