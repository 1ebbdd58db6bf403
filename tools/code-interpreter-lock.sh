#!/usr/bin/env bash
# Resolves internal/e2b/codeinterpreter/server.in anew into server.lock, what E2B's code-interpreter server runs on in a
# template. Usage: code-interpreter-lock.sh
# It is part of the edit digest, so another lock is another content: make check-code-interpreter proves it.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$project/tools/universal-lock.sh" "$project/internal/e2b/codeinterpreter" server tools/code-interpreter-lock.sh
