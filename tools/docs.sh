#!/usr/bin/env bash
# Writes the registry's pages from the provider in bin/, templates/ and examples/. Usage: tools/docs.sh DIRECTORY
# The schema is asked of the provider through OpenTofu, so that nothing is downloaded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for name in $(compgen -e TF_ || true); do unset "$name"; done

out=$1
tofu=$(tools/install.sh tofu)
tfplugindocs=$(tools/install.sh tfplugindocs)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/cli-config.sh "$PWD/bin" >"$work/cli.tfrc"
# tfplugindocs looks for the schema under this address.
cat >"$work/main.tf" <<'EOT'
terraform {
  required_providers {
    datalayer = { source = "registry.terraform.io/hashicorp/datalayer" }
  }
}
EOT
TF_CLI_CONFIG_FILE=$work/cli.tfrc "$tofu" -chdir="$work" providers schema -json >"$work/schema.json"
"$tfplugindocs" generate --provider-name datalayer --rendered-provider-name Datalayer --providers-schema "$work/schema.json" \
  --rendered-website-dir "$out"
