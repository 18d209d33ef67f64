#!/usr/bin/env bash
# test-client-package.sh CONFIGURATION   debug or release. Publishes the client to a repository, and builds an app's package
# that takes it from there by URL: by SwiftPM's engine and by Xcode's (swiftbuild), which compiles packages by URL with other
# flags than a package by path.
. "$(dirname "$0")/../parts/common.sh"
. "$scripts/parts/publishing.sh"

configuration=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
repository=file://$scratch/gatehouse-swift
consumer=$scratch/minimal
# No app's build has it, and SwiftPM refuses what it does in a package by URL.
unset GATEHOUSE_WARNINGS_AS_ERRORS
publish_packages "$scratch" client
publish_again() { "$scratch/tree/tools/publish.sh" client "$repository" 2>&1; }
[[ $(publish_again) == *"has version"* ]] || fail "a version can be published twice"
touch "$scratch/tree/new"
[[ $(publish_again) == *"commit first"* ]] || fail "a file that is not committed does not prevent publication"

cp -R "$root/Client/Examples/Minimal" "$consumer"
rm -rf "$consumer/.build"
cat >"$consumer/Package.swift" <<END
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "minimal",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(url: "$repository", exact: "$(version)")],
    targets: [
        .executableTarget(
            name: "minimal",
            dependencies: ["GatehouseClient", "GatehouseUI"].map { .product(name: \$0, package: "gatehouse-swift") },
            path: "Sources")
    ])
END
for engine in native swiftbuild; do
    build() {
        swift build --package-path "$consumer" --scratch-path "$scratch/$engine" --build-system "$engine" \
            -c "$configuration" >"$scratch/output" 2>&1
    }
    # Above 128 a signal ended it: swiftbuild of Swift 6.3 sometimes crashes while it plans.
    build || { [ $? -gt 128 ] && note "The build tool crashed: once more" && build; } || {
        cat "$scratch/output" >&2
        fail "an app cannot be built with the published client ($engine, $configuration)"
    }
done
for system in xros1.0 watchos9.0 tvos16.0; do
    # The compiler reaches #error without that system's standard library.
    output=$(swiftc -frontend -typecheck -parse-stdlib -target "arm64-apple-$system" \
        "$root/Client/GatehouseClient/SupportedPlatforms.swift" 2>&1) && fail "the client compiles for $system"
    [[ $output == *"GatehouseClient supports"* ]] || fail "the client does not say that it does not support $system: $output"
done
say "The published client builds by URL: native and swiftbuild, $configuration"
