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

note "Testing the client's package"
try Client client /GatehouseClient/ 96
note "Testing the client against stand-ins for Apple's frameworks"
try Tests/AppleStandIns "Keychain store" /Storage/Keychain 90
APPLE_STAND_INS=macOS swift build --package-path Tests/AppleStandIns --scratch-path Tests/AppleStandIns/.build-macos ||
    fail "the client's code for Macs does not compile"
note "Building the client as an app gets it"
tools/checks/test-client-package.sh debug
