#!/usr/bin/env bash
# Compares what each target imports, as the compiler reads it, with the dependencies that Package.swift declares, and
# targets and files with the rules of the architecture. SwiftPM's own check lets through whatever another target drags in.
# Products are expected to have their modules' names.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"

cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# describe FOLDER: its package as JSON, with paths from the root. A scratch folder of its own does not wait for a build
# that goes on.
describe() {
    (cd "$1" && swift package --scratch-path "$scratch/build" describe --type json) 2>"$scratch/errors" \
        >"$scratch/description" || {
        cat "$scratch/errors" >&2
        fail "$1/Package.swift cannot be read"
    }
    jq --arg folder "$1/" '.targets[].path |= ($folder + . | gsub("(^|(?<=/))\\./|/\\.$"; ""))' "$scratch/description"
}
describe . >"$scratch/package.json"
describe Shared >"$scratch/shared.json"
describe Tests/Benchmarks >"$scratch/benchmarks.json"

# check NAME MODULES FILE…: what the files may import.
check() {
    local name=$1 modules=" ${2//$'\n'/ } " module
    shift 2
    swiftc -frontend -emit-imported-modules -enable-bare-slash-regex -module-name Imports -o "$scratch/imported" "$@" ||
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
' "$scratch/package.json" "$scratch/benchmarks.json")

# The map: rules and state machines need values, text, time and hashes. They do no I/O.
mapfile -t files < <(git ls-files 'Services/*Rules.swift' 'Services/*Machine.swift')
check "a file *Rules.swift or *Machine.swift" \
    "Swift Foundation Synchronization Bytes Contracts AccessToken Limits Sealing Crypto" "${files[@]}"
mapfile -t files < <(git ls-files 'Client/GatehouseClient/Session/*.swift')
check Client/GatehouseClient/Session "Swift Foundation Contracts" "${files[@]}"
mapfile -t files < <(git ls-files 'Shared/Bytes/*.swift')
check Shared/Bytes "Swift" "${files[@]}"
mapfile -t files < <(git ls-files 'Shared/Contracts/*.swift')
check Shared/Contracts "Swift Foundation" "${files[@]}"

# Rules about the targets.
jq -r '
    (.targets | map({key: .name, value: .}) | from_entries) as $all
    | def reach: [., (($all[.].target_dependencies // [])[] | reach[])] | unique;
    def service: $all[.].path | test("^Services/[^/]+$");
    ($all | keys[]) as $name | $all[$name] as $target | ($target.target_dependencies // []) as $direct
    | (if ($target.path | startswith("Services/")) then
        $direct[] | select(service and ($all[.].path | split("/")[1]) != ($target.path | split("/")[1]))
        | "Package.swift: \($name) depends on \(.): services talk over HTTP, never by import"
      else empty end),
      (if ($target.path | startswith("Shared/")) then
        $direct[] | select(service) | "Package.swift: \($name) is shared and may not depend on the service \(.)"
      else empty end),
      (if ($target.path | startswith("Client/")) then
        $direct[] | select(. != "Contracts" and ($all[.].path | startswith("Client/") | not))
        | "Package.swift: \($name) is the client: of the server it shares Contracts, not \(.)"
      else empty end),
      (if $name == "GatehouseClient" or $name == "GatehouseUI" then
        ($target.product_dependencies // [])[]
        | "Package.swift: \($name) depends on \(.): an app would have to build it, too"
      else empty end),
      (if $name == "GatewayService" then
        $name | reach[] | select(. == "CLibpq" or . == "Postgres")
        | "Package.swift: \($name) reaches \(.): the gateway links no PostgreSQL"
      else empty end),
      (if $name != "Postgres" and any($direct[]; . == "CLibpq") then
        "Package.swift: only Postgres may depend on CLibpq, not \($name)" else empty end),
      (if $name != "Redis" and any($direct[]; . == "CHiredis") then
        "Package.swift: only Redis may depend on CHiredis, not \($name)" else empty end)
' "$scratch/package.json" >>"$scratch/findings"

# Both manifests build the targets of Shared/Package.swift, so they have to agree on what these use.
jq -nr --slurpfile package "$scratch/package.json" --slurpfile shared "$scratch/shared.json" '
    def uses: (.target_dependencies // []) + (.product_dependencies // []) | sort | join(" ");
    ($package[0].targets | map({key: .name, value: uses}) | from_entries) as $expected
    | $shared[0].targets[] | select($expected[.name] != uses)
    | "Shared/Package.swift: \(.name) uses \(uses); Package.swift says \($expected[.name])"
' >>"$scratch/findings"

if [ -s "$scratch/findings" ]; then
    sort "$scratch/findings" >&2
    exit 1
fi
