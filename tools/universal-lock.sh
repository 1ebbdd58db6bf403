#!/usr/bin/env bash
# Resolves DIR/NAME.in anew into DIR/NAME.lock: one lock for CPython 3.11 to 3.14 on Linux, of wheels alone, whose header
# names COMMAND. Usage: universal-lock.sh DIR NAME COMMAND
set -euo pipefail

room=$1 name=$2 command=$3
uv=$("$(dirname "${BASH_SOURCE[0]}")/install.sh" uv)
workshop=$(mktemp -d)
trap 'rm -rf "$workshop"' EXIT
cp "$room/$name.in" "$workshop/"
# uv takes environments from a project alone.
cat >"$workshop/pyproject.toml" <<TOML
[project]
name = "$name"
version = "0"
requires-python = ">=3.11"
[tool.uv]
environments = ["sys_platform == 'linux' and implementation_name == 'cpython'"]
TOML
(
  cd "$workshop"
  "$uv" pip compile --universal --python-version 3.11 --only-binary :all: --generate-hashes --no-annotate --quiet \
    --custom-compile-command "$command" --output-file "$name.lock" "$name.in"
)
# What every line says of the only system that a base has says nothing.
always="implementation_name == 'cpython' and sys_platform == 'linux'"
sed -e "s/ and $always//" -e "s/ ; $always//" "$workshop/$name.lock" >"$room/$name.lock"
