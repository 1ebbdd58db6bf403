#!/usr/bin/env bash
# Resolves internal/base/kernel.in anew into internal/base/kernel.lock, the kernel stack that a base image gets where
# kernel_lock says nothing: one lock for CPython 3.11 to 3.14 on Linux, of wheels alone. Usage: kernel-lock.sh
# A lock that a release has shipped stays in the states that it was chosen for; a new one serves new bases only.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv=$("$project/tools/install.sh" uv)
room=$project/internal/base
workshop=$(mktemp -d)
trap 'rm -rf "$workshop"' EXIT
cp "$room/kernel.in" "$workshop/"
# uv takes environments from a project alone.
cat >"$workshop/pyproject.toml" <<'TOML'
[project]
name = "kernel"
version = "0"
requires-python = ">=3.11"
[tool.uv]
environments = ["sys_platform == 'linux' and implementation_name == 'cpython'"]
TOML
cd "$workshop"
"$uv" pip compile --universal --python-version 3.11 --only-binary :all: --generate-hashes --no-annotate --quiet \
  --custom-compile-command tools/kernel-lock.sh --output-file kernel.lock kernel.in
# What every line says of the only system that a base has says nothing.
always="implementation_name == 'cpython' and sys_platform == 'linux'"
sed -e "s/ and $always//" -e "s/ ; $always//" kernel.lock >"$room/kernel.lock"
