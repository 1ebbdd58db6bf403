#!/usr/bin/env bash
# Prints a CLI configuration that makes Terraform and OpenTofu use the provider built in a directory, without a registry.
# Usage: tools/cli-config.sh DIRECTORY
# Examples for the registry's pages name no source, which the CLIs read as hashicorp/datalayer.
set -euo pipefail

cat <<EOT
# Put this into ~/.terraformrc (OpenTofu: ~/.tofurc), or into a file that TF_CLI_CONFIG_FILE names. No init is needed.
provider_installation {
  dev_overrides {
    "datalayer/datalayer"                        = "$1"
    "hashicorp/datalayer"                        = "$1"
    "registry.terraform.io/hashicorp/datalayer"  = "$1"
    "registry.opentofu.org/datalayer/datalayer"  = "$1"
  }
  direct {}
}
EOT
