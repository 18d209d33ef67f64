# How tests of scripts say what they expect. Sourced, never run; what a command prints goes to the state folder.

step() { printf '    %s\n' "$*"; }

# expect WHAT COMMAND…
expect() {
    local what=$1
    shift
    "$@" >"$state/output" 2>&1 || {
        cat "$state/output" >&2
        fail "expected: $what"
    }
    step "$what"
}

refuse() {
    local what=$1
    shift
    if "$@" >"$state/output" 2>&1; then fail "expected: $what"; fi
    step "$what"
}
