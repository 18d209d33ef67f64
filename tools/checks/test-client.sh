#!/usr/bin/env bash
# test-client.sh   tests the client's package, and its code for Apple's systems against stand-ins for their frameworks.
. "$(dirname "$0")/../parts/common.sh"

export GATEHOUSE_WARNINGS_AS_ERRORS=1
mkdir -p "$logs"
cd "$root"
tools=$(dirname "$(readlink -f "$(command -v swift)")")

# try PACKAGE NAME PATTERN FLOOR: its tests, and per cent of the lines of the files that match which have to run.
try() {
    local package=$1 name=$2 pattern=$3 floor=$4 binaries
    swift build --package-path "$package" --build-tests --enable-code-coverage || fail "$package does not compile"
    swift test --package-path "$package" --skip-build --disable-xctest --enable-code-coverage 2>&1 |
        tee "$logs/${package##*/}.log"
    binaries=$(swift build --package-path "$package" --enable-code-coverage --show-bin-path)
    "$tools/llvm-cov" export -summary-only -instr-profile "$binaries/codecov/default.profdata" \
        "$(ls -d "$binaries"/*PackageTests.xctest)" 2>"$logs/llvm-cov.log" |
        jq -r --arg name "$name" --arg pattern "$pattern" --argjson floor "$floor" '
            [.data[0].files[] | select(.filename | test($pattern)) | .summary.lines]
            | (map(.count) | add) as $lines | (map(.covered) | add) as $run
            | "\($name): \($run) of \($lines) lines, \(1000 * $run / $lines | floor / 10) %, floor \($floor) %",
              if 100 * $run < $floor * $lines then error("too few") else empty end
        ' || fail "the tests run too few lines of the $name"
}

# Sets `apple`: the package of stand-ins in a copy of the sources without the module FoundationNetworking, as on Apple's
# systems, where Foundation has its types. A source that has not changed keeps its time, so that it is not compiled again.
copy_for_apple() {
    local copy=$state/apple file
    local sources=(Client/{GatehouseClient,GatehouseUI,Tests,Examples/App}
        Shared/{GatehouseServiceContracts/Public,System/CGatehouseOpenSSL}
        Tests/AppleStandIns/{Package.swift,Sources,Tests,ClientTests})
    apple=$copy/Tests/AppleStandIns
    rm -rf "${sources[@]/#/$copy/}"
    mkdir -p "$copy"
    cp -Rp --parents "${sources[@]}" "$copy"
    # A public import has to be of the module that the types are from.
    grep -rlZ 'canImport(FoundationNetworking)' "$copy/Client" | while IFS= read -r -d '' file; do
        touch -r "$file" "$copy/time"
        sed -i -e 's/canImport(FoundationNetworking)/false/' \
            -e 's/^    public import Foundation$/    import Foundation; public import FoundationNetworking/' "$file"
        touch -r "$copy/time" "$file"
    done
    export APPLE_FOUNDATION=1
}

# build_for_apple SYSTEM CONFIGURATION
build_for_apple() {
    APPLE_STAND_INS=$1 swift build --package-path "$apple" --scratch-path "$apple/.build-$1" --configuration "$2" ||
        fail "the client does not compile for $1 ($2)"
}

note "Testing the client's package"
try Client client /GatehouseClient/ 96
note "Testing the client against stand-ins for Apple's frameworks"
copy_for_apple
try "$apple" "Keychain store" /Storage/Keychain 90
build_for_apple macOS debug
build_for_apple macOS release
build_for_apple iOS release
note "Building the client as an app gets it"
tools/checks/test-client-package.sh debug
