# shellcheck shell=bash
# What Swift files import. Sourced, never run.

# imports FOLDER…: FILE, LINE, MODULE of every import. `import struct Foundation.Data` imports Foundation.
imports() {
    grep -rnE --include='*.swift' '^[[:space:]]*(@[A-Za-z_]+(\([^)]*\))?[[:space:]]+|(public|package|internal|fileprivate|private)[[:space:]]+)*import[[:space:]]' \
        "$@" |
        sed -E 's/^([^:]+):([0-9]+):.*[[:space:]]?import[[:space:]]+((struct|class|enum|protocol|func|var|let|typealias)[[:space:]]+)?([A-Za-z_0-9]+).*/\1\t\2\t\5/'
}
