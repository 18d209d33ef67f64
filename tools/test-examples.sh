#!/usr/bin/env bash
# test-examples.sh   makes a service by deploy/examples/new-service and builds it as its team would, in a package of its
# own; checks what came with it and its tests; then runs it, and the examples in other languages, behind the
# real gateway. What was built stays under .local/examples for the next time.
# shellcheck source=parts/common.sh
. "$(dirname "$0")/parts/common.sh"
# shellcheck source=parts/packages.sh
. "$scripts/parts/packages.sh"
# shellcheck source=parts/postgres.sh
. "$scripts/parts/postgres.sh"

# Another name than the template's, and one that is spelled differently in types and settings.
name=price-list
made=$state/examples/$name
build=$state/examples/build
log=$logs/examples.log
# Of our libraries all that such a service may be compiled with.
modules="AccessToken Bytes Contracts GatehouseService Instruments Limits Observability ServiceKit Settings Threads TokenValidation"
libraries="libpq|libhiredis|libargon2"

ensure_packages
ensure_tools jq
mkdir -p "$build" "$logs"
rm -rf "$made"
"$root/deploy/examples/new-service" "$name" "$made"
ln -s "$build" "$made/.build"
left=$(grep -rniE 'orders' "$made" --include='*' --exclude-dir=.build || true)
[ -z "$left" ] || fail "the template's own name is left: $left"
for wrong in "" Price 1a price_list price- gateway; do
    if "$root/deploy/examples/new-service" "$wrong" "$made.wrong" 2>/dev/null; then fail "new-service takes the name '$wrong'"; fi
done
if "$root/deploy/examples/new-service" "$name" "$made" 2>/dev/null; then fail "new-service writes over a folder"; fi

note "Building $name as a package of its own: several minutes the first time"
swift build --package-path "$made" --scratch-path "$build" --build-tests >"$log" 2>&1 || {
    tail -n 25 "$log" >&2
    fail "what new-service makes cannot be built"
}
# The names of our own modules among those that were compiled.
ours=$(swift package --package-path "$root" describe --type json 2>/dev/null |
    jq -r '.targets[] | select(.type != "test" and (.path | startswith("deploy/") | not)) | .c99name' | LC_ALL=C sort -u)
compiled=$(find "$build/debug/" -path '*.build/*' -name '*.o' | sed -E 's|.*/([^/]+)\.build/.*|\1|' | LC_ALL=C sort -u |
    LC_ALL=C comm -12 - <(printf '%s\n' "$ours") | paste -sd ' ' -)
[ "$compiled" = "$modules" ] || fail "a service is compiled with $compiled, not just $modules"
if command -v readelf >/dev/null; then
    linked=$(readelf -d "$build/debug/$name" | grep NEEDED | grep -oE "$libraries" | sort -u | tr '\n' ' ' || true)
    [ -z "$linked" ] || fail "a service links $linked"
fi
say "GatehouseService brings $compiled; no PostgreSQL, no Redis, no Argon2"

note "Its own tests"
swift test --package-path "$made" --scratch-path "$build" --skip-build --disable-xctest >>"$log" 2>&1 || {
    tail -n 25 "$log" >&2
    fail "the tests of what new-service makes fail"
}
say "$(grep -E 'Test run with' "$log" | tail -n 1)"

note "The examples behind the real gateway"
GATEHOUSE_TEST_SERVICE=$made "$scripts/test.sh" --filter 'OwnServices|BearerVerifiers|SystemTests.Events'
