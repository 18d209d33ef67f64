#!/usr/bin/env bash
# check-client-package.sh [FOLDER]   builds Client/Examples/Minimal, which takes GatehouseClient from this repository and
# nothing else, and checks that nothing of the servers came with it: no package of theirs is resolved, no module compiled,
# no library linked. FOLDER is another such package, for trying the check.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$scripts/parts/packages.sh"

ensure_tools jq
example=${1:-$root/Client/Examples/Minimal}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
options=(--package-path "$example" --scratch-path "$scratch/build")

# All that an app is given of this repository, and the example itself; in alphabetical order.
modules="Contracts GatehouseClient minimal"
libraries="libpq|libhiredis|libssl|libcrypto|libcrypt|libargon2"

swift package "${options[@]}" show-dependencies --format json >"$scratch/dependencies.json" 2>"$scratch/errors" || {
    cat "$scratch/errors" >&2
    fail "$example cannot be resolved"
}
resolved=$(jq -r '[.dependencies[].dependencies[] | recurse(.dependencies[]) | .identity] | unique | join(" ")' \
    "$scratch/dependencies.json")
[ -z "$resolved" ] || fail "an app that takes GatehouseClient resolves $resolved"

swift build "${options[@]}" >"$scratch/output" 2>&1 || {
    cat "$scratch/output" >&2
    fail "$example cannot be built"
}
built=$scratch/build/debug
compiled=$(find "$built/" -path '*.build/*' -name '*.o' | sed -E 's|.*/([^/]+)\.build/.*|\1|' | LC_ALL=C sort -u | paste -sd ' ' -)
[ "$compiled" = "$modules" ] || fail "an app that takes GatehouseClient compiles $compiled, not just $modules"
if command -v readelf >/dev/null; then
    linked=$(readelf -d "$built/minimal" | grep NEEDED | grep -oE "$libraries" | sort -u | tr '\n' ' ' || true)
    [ -z "$linked" ] || fail "an app that takes GatehouseClient links $linked"
fi
say "GatehouseClient brings no package, and compiles $compiled"
