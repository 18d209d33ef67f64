#!/usr/bin/env bash
# Compares what each target imports, as the compiler reads it, with Package.swift and the rules of the architecture.
# SwiftPM's own check lets through whatever another target drags in. Products are expected to have their modules' names.
. "$(dirname "$0")/../parts/common.sh"

cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# describe FOLDER: its package as JSON, with paths from the root. With its own scratch folder it waits for no build.
describe() {
    (cd "$1" && swift package --scratch-path "$scratch/build" describe --type json) |
        jq --arg folder "$1/" '.targets[].path |= ($folder + . | gsub("(^|(?<=/))\\./|/\\.$"; ""))'
}
describe . >"$scratch/package.json"
describe Client >"$scratch/client.json"

# check NAME MODULES FILE…: what the files may import.
check() {
    local name=$1 modules=" ${2//$'\n'/ } " module
    swiftc -frontend -emit-imported-modules -enable-bare-slash-regex -module-name Imports -o "$scratch/imported" "${@:3}" ||
        fail "the imports of $name cannot be read"
    while read -r module; do
        [[ $modules == *" $module "* ]] || say "$name may not import $module: Package.swift, CONTRIBUTING.md (the map)"
    done <"$scratch/imported" >>"$scratch/findings"
}

# What comes with the toolchain or the system and needs no declaration.
platform="Swift Foundation FoundationEssentials FoundationNetworking Dispatch Synchronization Observation RegexBuilder
Testing XCTest PackageDescription Glibc Musl Darwin os Security CryptoKit AuthenticationServices SwiftUI UIKit AppKit
UserNotifications LocalAuthentication OSLog Network Combine"
while IFS=$'\t' read -r name modules files; do
    # shellcheck disable=SC2086 # one word a file
    check "$name" "$platform $modules" $files
done < <(jq -r '
    .targets[] | .path as $path | [.sources[] | select(endswith(".swift")) | $path + "/" + .]
        as $files | select($files != [])
    | [.name, ([.c99name] + (.target_dependencies // []) + (.product_dependencies // []) | join(" ")), ($files | join(" "))]
    | @tsv
' "$scratch/package.json" "$scratch/client.json")

# The map: rules, state machines and files that say so need values, text, time and hashes. They do no I/O.
pure="Swift Foundation Synchronization GatehouseBytes GatehouseServiceContracts GatehouseAccessTokens GatehouseLimits Sealing Crypto IdentityCore"
while IFS='|' read -r pattern modules; do
    mapfile -t files < <(git ls-files "$pattern")
    check "a file $pattern" "$modules" "${files[@]}"
done <<END
Services/*Rules.swift|$pure
Services/*Machine.swift|$pure
Client/GatehouseClient/Session/*.swift|Swift Foundation GatehouseContracts
Shared/GatehouseBytes/*.swift|Swift
Shared/GatehouseServiceContracts/Public/*.swift|Swift Foundation
END
# The line `// Pure: no I/O, no clock.` moves with the file's code. Any spelling of it counts, wherever it stands.
mapfile -t marked < <(git grep -liE '^[[:space:]]*//+[[:space:]]*pure\b' -- '*.swift')
[ "${#marked[@]}" -gt 0 ] || fail "no file is marked as pure: the search in $0 is out of date"
for file in "${marked[@]}"; do
    check "$file" "$pure" "$file"
done

# The map: which folders' targets may use which, published targets have the prefix, the gateway links no PostgreSQL, a
# driver's C library has one importer.
jq -r '
    (.targets | map({key: .name, value: .}) | from_entries) as $all
    | def dependencies: $all[.].target_dependencies // [];
    def reached: [., (dependencies[] | reached[])] | unique;
    def folder: $all[.].path | split("/")[:2] | join("/");
    def may($other):
        if startswith("Services/") then $other == . or ($other | startswith("Shared/"))
        elif startswith("Shared/") then $other | startswith("Shared/")
        elif startswith("Client/") then $other == "Shared/GatehouseServiceContracts" or ($other | startswith("Client/"))
        else true end;
    ($all | keys[]) as $name
    | ($name | dependencies[] | . as $other
        | select(($name | folder | may($other | folder) | not)
            or $other == "CLibpq" and $name != "Postgres" or $other == "CHiredis" and $name != "Redis")),
      (select($name == "GatehouseService") | $name | reached[] | select(test("^C?Gatehouse") | not)),
      (select($name == "GatewayService") | $name | reached[] | select(. == "CLibpq" or . == "Postgres"))
    | "Package.swift: \($name) may not depend on \(.): CONTRIBUTING.md (the map)"
' "$scratch/package.json" >>"$scratch/findings"

if [ -s "$scratch/findings" ]; then
    sort "$scratch/findings" >&2
    exit 1
fi
