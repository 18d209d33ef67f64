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

note "Scripts"
if command -v shellcheck >/dev/null; then
    shellcheck deploy/local/*.sh deploy/compose/*.sh .ci/run || failed=1
else
    warn "shellcheck is not here: scripts were not looked at"
fi

[ "$failed" = 0 ] || fail "lint found something"
note "Nothing found"
