#!/usr/bin/env bash
# Runs each fuzz target of the module for a time. Usage: tools/fuzz.sh TIME
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A listing prints a package's targets, then "ok" and the package.
targets=$(go test -list '^Fuzz' ./internal/... | awk '/^Fuzz/ { names[++n] = $1 }
  /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')
while read -r package name; do
  [ -n "$name" ] || continue
  echo "fuzz: $name in $package for $1"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "$package"
done <<<"$targets"
