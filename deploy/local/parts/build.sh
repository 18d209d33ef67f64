# shellcheck shell=bash
# Building the binaries. Tests and benchmarks that have built already say where: GATEHOUSE_BINARIES.

# Sets `binaries`.
build_release() {
    if [ -n "${GATEHOUSE_BINARIES:-}" ]; then
        binaries=$(cd "$GATEHOUSE_BINARIES" && pwd)
        return
    fi
    local flags=(-c release --explicit-target-dependency-import-check error)
    cd "$root"
    binaries=$(swift build "${flags[@]}" --show-bin-path)
    if [ -x "$binaries/gateway" ]; then
        note "Building"
    else
        note "Building for the first time: about ten minutes on two cores, with every dependency"
    fi
    # One call builds all: each call costs a second or two even when there is nothing to do.
    swift build "${flags[@]}" || fail "the build failed"
}
