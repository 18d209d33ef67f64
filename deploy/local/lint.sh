#!/usr/bin/env bash
# Format of every Swift file, and imports against the map in Package.swift.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

cd "$root"
failed=0

note "Format"
sources=(Package.swift Services Shared Tests)
if [ -d Client ]; then sources+=(Client); fi
swift format lint --strict --parallel --recursive "${sources[@]}" || failed=1

note "Imports"
deploy/local/lint-imports.sh || failed=1

if command -v shellcheck >/dev/null; then
    note "Scripts"
    shellcheck deploy/local/*.sh .ci/run || failed=1
fi

[ "$failed" = 0 ] || fail "lint found something"
note "Nothing found"
