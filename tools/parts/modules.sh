# shellcheck shell=bash
# What a build has brought into a program. Sourced, never run.

# compiled_modules FOLDER: the modules whose objects a build has left there, in alphabetical order.
compiled_modules() {
    find "$1/" -path '*.build/*' -name '*.o' | sed -E 's|.*/([^/]+)\.build/.*|\1|' | LC_ALL=C sort -u
}

# links_none PROGRAM PATTERN: fails where the program links a library of this name.
links_none() {
    local linked
    linked=$(readelf -d "$1" | grep NEEDED | grep -oE "$2" | sort -u | xargs) || true
    [ -z "$linked" ] || fail "$(basename "$1") links $linked"
}
