#!/usr/bin/env bash
# coverage.sh BINARIES PROFILES   prints how many lines of Services, Shared and Client the tests of `test.sh --coverage`
# ran, and fails where a part has fewer than its floor. PROFILES is the folder to which the tests, and each service that they
# started, wrote what they ran.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"

binaries=$1
profiles=$2
state=$state/coverage
mkdir -p "$state" "$logs"
cd "$root"

# Per cent. A part that is not named here has that of `any`.
floors="all=90 any=85 Client/GatehouseClient=90"

# SwiftPM's own report holds only what the test bundle links; the services' binaries have to be named.
tools=$(dirname "$(readlink -f "$(type -P swift)")")
objects=()
for name in gateway identity tokens devices apple-simulator gatehouse; do
    objects+=(-object "$binaries/$name")
done
# What a process was killed over is left out.
"$tools/llvm-profdata" merge -sparse --failure-mode=all -o "$state/all.profdata" "$profiles"/*.profraw \
    2>"$logs/llvm-profdata.log" || {
    tail -n 5 "$logs/llvm-profdata.log" >&2
    fail "llvm-profdata failed"
}
report=$state/report.json
"$tools/llvm-cov" export -summary-only -instr-profile "$state/all.profdata" \
    "$(ls -d "$binaries"/*PackageTests.xctest)" "${objects[@]}" >"$report" 2>"$logs/llvm-cov.log" || {
    tail -n 5 "$logs/llvm-cov.log" >&2
    fail "llvm-cov failed"
}

# FILE, LINES, LINES RUN: from the report; then every source on disk that the report does not know, as not run at all. A
# file without a function, an initialiser or a computed value has nothing to run, and of one for Apple's systems alone
# test-client.sh counts the lines.
jq -r --arg root "$root/" '
    .data[0].files[] | select(.filename | startswith($root + "Services/") or startswith($root + "Shared/") or
            startswith($root + "Client/"))
    | [(.filename | ltrimstr($root)), .summary.lines.count, .summary.lines.covered] | @tsv
' "$report" | grep -v '/\.build' >"$state/files.tsv"
cut -f 1 "$state/files.tsv" >"$state/files.txt"
find Services Shared Client/GatehouseClient Client/gatehouse -name '*.swift' ! -name Package.swift | while read -r file; do
    if ! head -n 1 "$file" | grep -q '^#if canImport' && ! grep -qxF "$file" "$state/files.txt" &&
        grep -qE '(^|[[:space:]])(func|init|subscript|deinit)[[:space:](?<]|\{ *(get|return)|var [^=]*\{$' "$file"; then
        printf '%s\t%s\t0\n' "$file" "$(grep -cvE '^[[:space:]]*(//|$)' "$file")"
    fi
done >"$state/unknown.tsv"
cat "$state/unknown.tsv" >>"$state/files.tsv"

if [ -s "$state/unknown.tsv" ]; then
    say "Not in any binary, and so counted as not run:"
    cut -f 1 "$state/unknown.tsv"
fi

# PART, LINES, LINES RUN: a library or service each, and all of them.
awk -F'\t' -v OFS='\t' '
    {
        split($1, folder, "/")
        part = folder[1] "/" folder[2]
        lines[part] += $2; run[part] += $3; lines["all"] += $2; run["all"] += $3
    }
    END { for (part in lines) if (lines[part] > 0) print part, lines[part], run[part] }
' "$state/files.tsv" | sort >"$state/parts.tsv"
[ -s "$state/parts.tsv" ] || fail "no lines were found"

awk -F'\t' -v floors="$floors" '
    BEGIN {
        printf "\n%-28s %8s %8s %8s %8s\n", "", "lines", "run", "", "floor"
        for (i = split(floors, pair, " "); i > 0; i--) { split(pair[i], word, "="); floor[word[1]] = word[2] }
    }
    {
        least = $1 in floor ? floor[$1] : floor["any"]
        few = 100 * $3 < least * $2
        printf "%-28s %8d %8d %7.1f%% %7d%%%s\n", $1, $2, $3, 100 * $3 / $2, least, few ? "  too few" : ""
        if (few) failed = 1
    }
    END { exit failed }
' "$state/parts.tsv" || fail "the tests run fewer lines than the floors in tools/checks/coverage.sh ask for"
