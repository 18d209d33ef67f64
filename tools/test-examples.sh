#!/usr/bin/env bash
# Makes a service by deploy/examples/new-service and builds it as its team would, with the published package; checks what
# came with it and its tests; then runs it, and the examples in other languages, behind the real gateway. What was built
# stays under .local/examples for the next time.
. "$(dirname "$0")/parts/packages.sh"
. "$scripts/parts/publishing.sh"

# Another name than the template's, and one that is spelled differently in types and settings.
name=price-list
made=$state/examples/$name
build=$state/examples/build
# Of our libraries all that such a service may be compiled with.
modules="GatehouseAccessTokens GatehouseBytes GatehouseInstruments GatehouseLimits GatehouseObservability GatehouseService GatehouseServiceContracts GatehouseServiceKit GatehouseSettings GatehouseThreads GatehouseTokenValidation"

ensure_packages
mkdir -p "$build"
rm -rf "$made"
repositories=$(mktemp -d)
trap 'rm -rf "$repositories"' EXIT
publish_packages "$repositories" client service
"$root/deploy/examples/new-service" "$name" "$made" "file://$repositories/gatehouse-service"
ln -s "$build" "$made/.build"
left=$(grep -rniE 'orders' "$made" --exclude-dir=.build || true)
[ -z "$left" ] || fail "the template's own name is left: $left"
for wrong in "" Price 1a price_list price- gateway; do
    if "$root/deploy/examples/new-service" "$wrong" "$made.wrong" 2>/dev/null; then fail "new-service takes the name '$wrong'"; fi
done
if "$root/deploy/examples/new-service" "$name" "$made" 2>/dev/null; then fail "new-service writes over a folder"; fi

note "Building $name as a package of its own: several minutes the first time"
swift build --package-path "$made" --scratch-path "$build" --build-tests || fail "what new-service makes cannot be built"
# The names of our own modules among those whose objects the build has left.
compiled=$(find "$build/debug/" -name '*.o' | sed -nE 's|.*/([^/]+)\.build/.*|\1|p' | LC_ALL=C sort -u |
    LC_ALL=C comm -12 - <(LC_ALL=C ls "$root/Shared") | xargs)
[ "$compiled" = "$modules" ] || fail "a service is compiled with $compiled, not just $modules"
say "GatehouseService brings: $compiled"

note "Its own tests"
swift test --package-path "$made" --scratch-path "$build" --skip-build --disable-xctest ||
    fail "the tests of what new-service makes fail"

note "The published client"
"$scripts/checks/test-client-package.sh" release

note "The examples behind the real gateway"
GATEHOUSE_TEST_SERVICE=$made "$scripts/test.sh" --filter 'OwnServices|BearerVerifiers|SystemTests.Events'
