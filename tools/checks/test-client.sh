#!/usr/bin/env bash
# test-client.sh   tries the client where the other tests cannot: its code for Apple's systems against stand-ins for
# Apple's frameworks, with how many lines of the Keychain store that ran; and as an app gets it, without the servers.
. "$(dirname "$0")/../parts/common.sh"

package=$root/Client/AppleStandIns
# Per cent of the lines.
keychain_floor=90
mkdir -p "$logs"
cd "$root"

note "Trying the client against stand-ins for Apple's frameworks"
swift build --package-path "$package" --build-tests --enable-code-coverage ||
    fail "the client's code for Apple's systems does not compile"
swift test --package-path "$package" --skip-build --disable-xctest --enable-code-coverage 2>&1 | tee "$logs/stand-ins.log"

binaries=$(swift build --package-path "$package" --enable-code-coverage --show-bin-path)
tools=$(dirname "$(readlink -f "$(command -v swift)")")
"$tools/llvm-cov" export -summary-only -instr-profile "$binaries/codecov/default.profdata" \
    "$(ls -d "$binaries"/*PackageTests.xctest)" 2>"$logs/llvm-cov.log" |
    jq -r --argjson floor "$keychain_floor" '
        [.data[0].files[] | select(.filename | test("/Storage/Keychain")) | .summary.lines]
        | (map(.count) | add) as $lines | (map(.covered) | add) as $run
        | "Keychain store: \($run) of \($lines) lines, \(1000 * $run / $lines | floor / 10) %, floor \($floor) %",
          if 100 * $run < $floor * $lines then error("too few") else empty end
    ' || fail "the tests run too few lines of the Keychain store"

note "Building the client as an app gets it"
tools/checks/check-client-package.sh
