#!/usr/bin/env bash
# Runs all tests that need no account, with a real BuildKit, registry and base image (internal/enginetest), the provider's
# tests on OpenTofu and, where one >= 1.11 is on PATH, on Terraform, then the services' own clients against the stand-ins
# for the services, and each fuzz target 20000 times.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${HOME:?is not set, and Go, the tools and the cache need it}"

if [ -z "${DATALAYER_TEST_ENGINE:-}" ]; then
  go build -buildvcs=false -o bin/with-engine ./internal/enginetest/cmd/with-engine
  exec bin/with-engine "$0"
fi

# The user's own settings of the CLIs have no part in the tests.
for name in $(compgen -e TF_ || true); do unset "$name"; done
export TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1 AWS_EC2_METADATA_DISABLED=true

say() { printf '\n== %s (%d s so far)\n' "$*" "$SECONDS"; }
oldest=1.11

tofu=$(tools/install.sh tofu)
export TF_ACC=1

# The provider's tests on Terraform run beside all others: most of both is waiting. What they print comes after.
version=
if terraform=$(command -v terraform); then
  version=$("$terraform" version | sed -n '1s/^Terraform v//p')
fi
figures=$(mktemp)
printed=$(mktemp)
trap 'rm -f "$figures" "$printed"' EXIT
export DATALAYER_TEST_FIGURES=$figures
beside=
if [ -n "$version" ] && [ "$(printf '%s\n' "$oldest" "$version" | sort -V | head -1)" = "$oldest" ]; then
  trap 'trap - TERM INT; [ -z "$beside" ] || kill "$beside" 2>/dev/null || true; exit 143' TERM INT
  TF_ACC_TERRAFORM_PATH=$terraform go test -count=1 -timeout 60m ./internal/provider/... >"$printed" 2>&1 &
  beside=$!
fi

failed=0
say "all tests, the provider's on $("$tofu" version | head -1)"
TF_ACC_TERRAFORM_PATH=$tofu TF_ACC_PROVIDER_NAMESPACE=hashicorp TF_ACC_PROVIDER_HOST=registry.opentofu.org \
  go test -count=1 -timeout 60m ./... || failed=1

if [ -n "$beside" ]; then
  wait "$beside" || failed=1
  beside=
  say "the provider's tests on Terraform $version, which ran beside these"
  cat "$printed"
else
  echo "terraform: NOT RUN (Terraform >= $oldest is not on PATH${version:+, which has $version})"
fi

say "what the tests counted, once for each CLI"
sort "$figures"
[ "$failed" -eq 0 ] || { say "tests failed"; exit 1; }

say "the services' own clients against the stand-ins"
tools/contract.sh

say "fuzz targets"
tools/fuzz.sh 20000
say "done"
