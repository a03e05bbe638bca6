#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# harness/cuda/data_kernels.ptx is what clang 14 makes of data_kernels.cu. Without arguments: fails
# when it is not. With --update: makes it.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly source=harness/cuda/data_kernels.cu kept=harness/cuda/data_kernels.ptx

compile() {
  clang++-14 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -std=c++17 -O3 \
    -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx63 -S -o - "$source" |
    sed -e '/^\/\//d' -e '/^$/d'
}

if [[ ${1:-} == --update ]]; then
  compile >"$kept"
elif ! diff -u "$kept" <(compile); then
  echo "$kept is stale: run tests/lint/ptx.sh --update" >&2
  exit 1
fi
