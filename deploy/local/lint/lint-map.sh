#!/usr/bin/env bash
# lint-map.sh   checks the sources against the map in CONTRIBUTING.md: what a file may import, by its folder or its name.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=imports.sh
. "$local_scripts/lint/imports.sh"

cd "$root"
# Rules and state machines need values, text, time and hashes. They do no I/O.
rules="Swift Foundation Synchronization Bytes Contracts AccessToken Sealing Crypto"

# PATH-PATTERN, MODULES, a line each: files whose path matches may import these modules only.
allowed=$(
    printf '%s\t%s\n' \
        '^Services/.*(Rules|Machine)\\.swift$' "$rules" \
        '^Shared/Bytes/' 'Swift' \
        '^Shared/Contracts/' 'Swift Foundation' \
        '^Client/GatehouseClient/Session/' 'Swift Foundation Contracts'
)

findings() {
    imports Services Shared Tests Client | allowed=$allowed awk -F'\t' '
        BEGIN {
            for (i = split(ENVIRON["allowed"], rule, "\n"); i > 0; i--) {
                split(rule[i], part, "\t")
                modules[part[1]] = part[2]
            }
        }
        {
            for (path in modules) if ($1 ~ path && index(" " modules[path] " ", " " $3 " ") == 0)
                printf "%s:%s: may not import %s, only %s: see the map in CONTRIBUTING.md\n", \
                    $1, $2, $3, modules[path]
        }'

    # A rule throws an error of its own, which the routes turn into a Problem. Comments may name it.
    find Services \( -name '*Rules.swift' -o -name '*Machine.swift' \) -exec awk '
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
