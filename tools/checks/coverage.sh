#!/usr/bin/env bash
# coverage.sh BINARIES PROFILES   prints how many lines of Services, Shared and the command the tests ran, and fails
# where a part has fewer than its floor. PROFILES is the folder to which the tests, and the services that they started, wrote.
. "$(dirname "$0")/../parts/common.sh"

binaries=$1
profiles=$2
state=$state/coverage
mkdir -p "$state" "$logs"

# SwiftPM's own report holds only what the test bundle links; the services' binaries have to be named.
tools=$(dirname "$(readlink -f "$(command -v swift)")")
objects=()
for name in gateway identity tokens devices apple-simulator gatehouse; do
    objects+=(-object "$binaries/$name")
done
# What a process was killed over is left out.
"$tools/llvm-profdata" merge -sparse --failure-mode=all -o "$state/all.profdata" "$profiles"/*.profraw \
    2>"$logs/llvm-profdata.log" || fail "llvm-profdata failed: $logs/llvm-profdata.log"
"$tools/llvm-cov" export -summary-only -instr-profile "$state/all.profdata" \
    "$(ls -d "$binaries"/*PackageTests.xctest)" "${objects[@]}" >"$state/report.json" 2>"$logs/llvm-cov.log" ||
    fail "llvm-cov failed: $logs/llvm-cov.log"

# Of each library and service, and of all, in per cent.
jq -r --arg root "$root/" '
    {"all": 90} as $floors
    | [.data[0].files[] | .filename |= ltrimstr($root)
        | select(.filename | test("^(Services|Shared|Client/gatehouse)/") and (contains("/.build") | not))
        | {part: (.filename | split("/")[:2] | join("/")), lines: .summary.lines}]
    | group_by(.part) + [map(.part = "all")] | .[]
    | .[0].part as $part | (map(.lines.count) | add) as $lines | (map(.lines.covered) | add) as $run
    | ($floors[$part] // 85) as $floor | select($lines > 0)
    | "\($part): \($run) of \($lines) lines, \(1000 * $run / $lines | floor / 10) %, floor \($floor) %"
        + if 100 * $run < $floor * $lines then ": too few" else "" end
' "$state/report.json" | tee "$state/parts"
[ -s "$state/parts" ] || fail "no lines were found"
! grep 'too few$' "$state/parts" || fail "the tests run fewer lines than the floors in tools/checks/coverage.sh ask for"
