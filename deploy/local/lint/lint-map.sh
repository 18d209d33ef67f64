#!/usr/bin/env bash
# lint-map.sh [FOLDER]   holds the sources to the map in CONTRIBUTING.md: what a file may import by where it lies.
# FOLDER is another copy of the tree, for trying the rules.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=imports.sh
. "$local_scripts/lint/imports.sh"

cd "${1:-$root}"
# A rule needs values, text, time and hashes, and nothing that reads or writes.
domain="Swift Foundation Synchronization Bytes Contracts AccessToken RateLimiting Crypto"
folders=(Services Shared Tests)
if [ -d Client ]; then folders+=(Client); fi

# FOLDER-PATTERN, MODULES, a line each: files under the folder may import these modules and no other.
allowed=$(
    printf '%s\t%s\n' \
        '^Services/(.*/)?Domain/' "$domain" \
        '^Shared/Bytes/' 'Swift' \
        '^Shared/Contracts/' 'Swift Foundation' \
        '^Client/GatehouseClient/Session/' 'Swift Foundation Contracts'
)

findings() {
    imports "${folders[@]}" | allowed=$allowed awk -F'\t' '
        BEGIN {
            for (i = split(ENVIRON["allowed"], rule, "\n"); i > 0; i--) {
                split(rule[i], part, "\t")
                modules[part[1]] = part[2]
            }
        }
        {
            for (folder in modules) if ($1 ~ folder && index(" " modules[folder] " ", " " $3 " ") == 0)
                printf "%s:%s: may not import %s, only %s: see the map in CONTRIBUTING.md\n", \
                    $1, $2, $3, modules[folder]
        }'

    # Comments aside. A rule throws an error of its own, which the HTTP folder turns into a Problem.
    find Services -path '*/Domain/*' -name '*.swift' -exec awk '
        { code = $0; sub(/\/\/.*/, "", code) }
        code ~ /(^|[^A-Za-z0-9_])Problem([^A-Za-z0-9_]|$)/ {
            printf "%s:%s: names Problem, an answer of HTTP: see the map in CONTRIBUTING.md\n", FILENAME, FNR
        }' {} +
}

found=$(findings | sort)
if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
