#!/usr/bin/env bash
# Runs the tests with coverage, in a build folder of its own, and prints how many lines of Services and Shared they ran.
# Services that the end-to-end tests start as processes count: they inherit where to write what they ran.
# shellcheck source=test-servers.sh
. "$(dirname "$0")/test-servers.sh"

minimum=80
flags=(--explicit-target-dependency-import-check error --enable-code-coverage --scratch-path .build-coverage)

ensure_packages
cd "$root"
note "Building the tests with coverage: several minutes the first time"
swift build --build-tests "${flags[@]}" || fail "the build failed"
GATEHOUSE_TEST_BINARIES=$(swift build "${flags[@]}" --show-bin-path)
export GATEHOUSE_TEST_BINARIES

start_test_servers
note "Testing"
swift test --skip-build --disable-xctest --experimental-maximum-parallelization-width "$width" \
    "${flags[@]}" 2>&1 | tee "$logs/coverage.log"

# SwiftPM's own report holds only what the test bundle links; the services' binaries have to be named.
tools=$(dirname "$(readlink -f "$(command -v swift)")")
objects=()
for name in gateway identity tokens devices apple-simulator; do
    objects+=(-object "$GATEHOUSE_TEST_BINARIES/$name")
done
report=$state/coverage.json
"$tools/llvm-cov" export -summary-only -instr-profile "$GATEHOUSE_TEST_BINARIES/codecov/default.profdata" \
    "$(ls -d "$GATEHOUSE_TEST_BINARIES"/*PackageTests.xctest)" "${objects[@]}" >"$report" 2>"$logs/llvm-cov.log" || {
    tail -n 5 "$logs/llvm-cov.log" >&2
    fail "llvm-cov failed"
}

# FILE, LINES, LINES RUN: from the report; then every file on disk that the report does not know, as not run at all. A
# file without a function, an initialiser or a computed value has nothing to run.
jq -r --arg root "$root/" '
    .data[0].files[] | select(.filename | startswith($root + "Services/") or startswith($root + "Shared/"))
    | [(.filename | ltrimstr($root)), .summary.lines.count, .summary.lines.covered] | @tsv
' "$report" | grep -v '/\.build' >"$state/coverage.tsv"
find Services Shared -name '*.swift' | while read -r file; do
    if ! cut -f 1 "$state/coverage.tsv" | grep -qx "$file" &&
        grep -qE '(^|[[:space:]])(func|init|subscript|deinit)[[:space:](?<]|\{ *(get|return)|var [^=]*\{$' "$file"; then
        printf '%s\t%s\t0\n' "$file" "$(grep -cvE '^[[:space:]]*(//|$)' "$file")"
    fi
done >"$state/coverage-unknown.tsv"
cat "$state/coverage-unknown.tsv" >>"$state/coverage.tsv"

if [ -s "$state/coverage-unknown.tsv" ]; then
    say "Not in any binary, and so counted as not run:"
    cut -f 1 "$state/coverage-unknown.tsv"
fi

# One row a library or service.
awk -F'\t' -v minimum="$minimum" '
    {
        split($1, part, "/")
        folder = part[1] "/" part[2]
        lines[folder] += $2; run[folder] += $3; all += $2; all_run += $3
    }
    END {
        printf "\n%-28s %8s %8s %8s\n", "", "lines", "run", ""
        fflush()
        command = "sort"
        for (folder in lines) if (lines[folder] > 0) {
            printf "%-28s %8d %8d %7.1f%%\n", folder, lines[folder], run[folder], 100 * run[folder] / lines[folder] | command
        }
        close(command)
        if (all == 0) { print "no lines were found"; exit 1 }
        printf "%-28s %8d %8d %7.1f%%\n", "all", all, all_run, 100 * all_run / all
        if (100 * all_run < minimum * all) { printf "error: under %d%%\n", minimum; exit 1 }
    }
' "$state/coverage.tsv"
