#!/usr/bin/env bash
# Runs each fuzz target of the module so many times. Usage: tools/fuzz.sh TIMES
# The budget is a count: Go before 1.27 may report a budget of seconds that has run out as a failure of the target
# (go.dev/issue/75804). What the fuzzer finds interesting is made smaller in few runs only, or that takes the whole budget.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
times=${1:?how many times each target is to run}

# A listing prints a package's targets, then "ok" and the package.
targets=$(go test -list '^Fuzz' ./internal/... | awk '/^Fuzz/ { names[++n] = $1 }
  /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')
while read -r package name; do
  [ -n "$name" ] || continue
  echo "fuzz: $name in $package, $times times"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${times}x" -fuzzminimizetime 100x "$package"
done <<<"$targets"
