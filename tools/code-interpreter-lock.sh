#!/usr/bin/env bash
# Resolves internal/e2b/codeinterpreter/server.in anew into server.lock, what E2B's code-interpreter server runs on in a
# template: one lock for CPython 3.11 to 3.14 on Linux, of wheels alone. Usage: code-interpreter-lock.sh
# It is part of the edit digest, so another lock is another content: make check-code-interpreter proves it.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv=$("$project/tools/install.sh" uv)
room=$project/internal/e2b/codeinterpreter
workshop=$(mktemp -d)
trap 'rm -rf "$workshop"' EXIT
cp "$room/server.in" "$workshop/"
# uv takes environments from a project alone.
cat >"$workshop/pyproject.toml" <<'TOML'
[project]
name = "server"
version = "0"
requires-python = ">=3.11"
[tool.uv]
environments = ["sys_platform == 'linux' and implementation_name == 'cpython'"]
TOML
cd "$workshop"
"$uv" pip compile --universal --python-version 3.11 --only-binary :all: --generate-hashes --no-annotate --quiet \
  --custom-compile-command tools/code-interpreter-lock.sh --output-file server.lock server.in
# What every line says of the only system that a base has says nothing.
always="implementation_name == 'cpython' and sys_platform == 'linux'"
sed -e "s/ and $always//" -e "s/ ; $always//" server.lock >"$room/server.lock"
