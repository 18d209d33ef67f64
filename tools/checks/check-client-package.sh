#!/usr/bin/env bash
# Builds Client/Examples/Minimal, which takes GatehouseClient from this repository and nothing else, and checks that nothing
# of the servers came with it: no package of theirs is resolved, no module compiled.
. "$(dirname "$0")/../parts/common.sh"
. "$scripts/parts/packages.sh"
. "$scripts/parts/modules.sh"

ensure_tools jq
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
options=(--package-path "$root/Client/Examples/Minimal" --scratch-path "$scratch/build")

resolved=$(swift package "${options[@]}" show-dependencies --format json |
    jq -r '[.dependencies[].dependencies[] | recurse(.dependencies[]) | .identity] | unique | join(" ")')
[ -z "$resolved" ] || fail "an app that takes GatehouseClient resolves $resolved"
swift build "${options[@]}" >"$scratch/output" 2>&1 || {
    cat "$scratch/output" >&2
    fail "Client/Examples/Minimal cannot be built"
}
compiled=$(compiled_modules "$scratch/build/debug" | xargs)
# All that an app is given of this repository, and the example itself.
[ "$compiled" = "Contracts GatehouseClient minimal" ] || fail "an app that takes GatehouseClient compiles $compiled"
say "GatehouseClient brings no package, and compiles $compiled"
