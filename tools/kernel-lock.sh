#!/usr/bin/env bash
# Resolves internal/base/kernel.in anew into internal/base/kernel.lock, the kernel stack that a base image gets where
# kernel_lock says nothing. Usage: kernel-lock.sh
# A lock that a release has shipped stays in the states that it was chosen for; a new one serves new bases only.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$project/tools/universal-lock.sh" "$project/internal/base" kernel tools/kernel-lock.sh
