# How tests of scripts say what they expect. Sourced, never run; what a command prints goes to the state folder.

step() { printf '    %s\n' "$*"; }

# expect WHAT COMMAND…
expect() {
    "${@:2}" >"$state/output" 2>&1 || {
        cat "$state/output" >&2
        fail "expected: $1"
    }
    step "$1"
}

refuse() {
    if "${@:2}" >"$state/output" 2>&1; then fail "expected: $1"; fi
    step "$1"
}
