#!/usr/bin/env bash
# Compares every import with the dependencies that Package.swift, or that of the benchmarks, declares for its target, and
# the targets with the rules of the architecture. SwiftPM's own check lets through whatever another target drags in.
#
# A script rather than a Swift tool: SwiftPM describes the package as JSON, jq turns that into lines, and there is
# nothing to compile before it can run. Products are expected to be named as their modules are, as all of ours are.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=imports.sh
. "$local_scripts/lint/imports.sh"

cd "$root"
command -v jq >/dev/null || fail "there is no jq: make lint installs it"
folders=(Services Shared Tests deploy/examples)
if [ -d Client ]; then folders+=(Client); fi
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

# What comes with the toolchain or the system and needs no declaration.
platform="Swift Foundation FoundationEssentials FoundationNetworking Dispatch Synchronization Observation RegexBuilder
    Testing XCTest PackageDescription Glibc Musl Darwin os Security CryptoKit AuthenticationServices SwiftUI UIKit
    AppKit UserNotifications LocalAuthentication OSLog Network Combine"

# FILE, TARGET, MODULE: all that each file may import.
jq -r --arg platform "$platform" '
    .targets[] | . as $target
    | (($platform | [splits("\\s+")]) + [.c99name] + (.target_dependencies // []) + (.product_dependencies // []))
      as $modules
    | .sources[] | [$target.path + "/" + ., $target.name, ($modules | join(" "))] | @tsv
' "$scratch/package.json" "$scratch/benchmarks.json" >"$scratch/allowed"

imports "${folders[@]}" >"$scratch/imports"

awk -F'\t' '
    NR == FNR { target[$1] = $2; allowed[$1] = " " $3 " "; next }
    $1 in target && index(allowed[$1], " " $3 " ") == 0 {
        printf "%s:%s: %s imports %s without declaring it in Package.swift\n", $1, $2, target[$1], $3
    }
' "$scratch/allowed" "$scratch/imports" >"$scratch/findings"

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
