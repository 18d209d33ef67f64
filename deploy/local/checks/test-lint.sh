#!/usr/bin/env bash
# Tries each rule of lint-map.sh on a small tree of its own: one that keeps to the map passes, and each violation is
# refused with the file's name.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-lint
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"

tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT

# swift_file PATH LINE…
swift_file() {
    local path=$tree/$1
    shift
    mkdir -p "$(dirname "$path")"
    printf '%s\n' "$@" >"$path"
}

swift_file Services/orders/Sources/Domain/Order.swift 'import Foundation' '/// Never a Problem.' 'struct Order {}'
swift_file Services/orders/Sources/HTTP/Routes.swift 'import NIOCore' 'let answer = Problem(.notFound)'
swift_file Shared/Bytes/Base64URL.swift 'enum Base64URL {}'
swift_file Shared/Contracts/Order.swift 'public import Foundation'
swift_file Tests/OrdersTests/Domain/OrderTests.swift 'import Testing'
expect "a tree that keeps to the map passes" "$local_scripts/lint/lint-map.sh" "$tree"

refused_by_name() { ! "$local_scripts/lint/lint-map.sh" "$tree" 2>"$state/findings" && grep -q "^$1:" "$state/findings"; }

# refuses WHAT PATH LINE…: a file more, and only for as long as it takes.
refuses() {
    local what=$1 path=$2
    shift 2
    swift_file "$path" "$@"
    expect "refused: $what" refused_by_name "$path"
    rm "$tree/$path"
}

refuses "NIO in Domain" Services/orders/Sources/Domain/Wire.swift 'import NIOCore'
refuses "one type of the HTTP kit, in a folder below Domain" Services/orders/Sources/Domain/Rules/Answer.swift \
    'internal import struct HTTPTypes.HTTPFields'
refuses "a Domain below a feature" Services/orders/Sources/Returns/Domain/Table.swift '@preconcurrency import Postgres'
refuses "Problem in Domain" Services/orders/Sources/Domain/Refusal.swift 'func check() throws(Problem) {}'
refuses "Foundation in Bytes" Shared/Bytes/Text.swift 'import Foundation'
refuses "another library in Contracts" Shared/Contracts/Token.swift 'import AccessToken'
refuses "the Keychain in a session's rules" Client/GatehouseClient/Session/Restore.swift 'import Security'
