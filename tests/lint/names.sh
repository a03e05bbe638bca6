#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No transport is known outside its folder: the harness names none and calls no vendor's API, and
# a transport's headers are included by itself, the registry and tests only. No test has a name
# that CTest takes for two, and each header can be included twice.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Ordinary words of C++ or English, which say nothing when they are found.
readonly ordinary=' null tcp staged '
# Known to come; looked for before their folders are there.
names=(nccl cuda_copy)
folders=()
for folder in transports/*/; do
  name=$(basename "$folder")
  folders+=("$name")
  [[ $ordinary == *" $name "* ]] || names+=("$name")
done

bad=0
report() {
  printf '%s\n' "$1" "$2"
  bad=1
}

words=$(IFS='|' && printf '%s' "${names[*]}")
if found=$(grep -rnwE "$words" harness --include='*.h' --include='*.cpp'); then
  report "names of transports in the harness:" "$found"
fi
if found=$(grep -rnE '\bfi_[a-z]+\(|\bibv_' harness --include='*.h' --include='*.cpp'); then
  report "calls of a vendor's API in the harness:" "$found"
fi
for name in "${folders[@]}"; do
  if found=$(grep -rn "#include \"transports/$name/" harness transports --include='*.h' --include='*.cpp' |
    grep -v "^transports/$name/\|^transports/registry.cpp:"); then
    report "headers of $name included from outside:" "$found"
  fi
done
found=$(grep -rL '^#pragma once' harness transports tests --include='*.h' || true)
[[ -z $found ]] || report "headers that cannot be included twice:" "$found"
if found=$(grep -rnE 'TEST_CASE(_TEMPLATE)?\("[^"]*;' tests --include='*.cpp'); then
  report "semicolons in names of tests, where CMake's lists end:" "$found"
fi
((bad)) || echo "names: no transport is known outside its folder"
exit "$bad"
