# shellcheck shell=bash
# Building the binaries. Tests and benchmarks that have built already say where: GATEHOUSE_BINARIES.

# Sets `flags` to those of deploy/release-flags, by which the images are built too: what is measured is what ships.
choose_release_flags() {
    local flag words
    flags=()
    read -ra words <"$root/deploy/release-flags"
    for flag in "${words[@]}"; do
        # There Swift's library is a part of the system, and there is no static one.
        if [ "$flag" = --static-swift-stdlib ] && [ "$(uname)" = Darwin ]; then continue; fi
        flags+=("$flag")
    done
}

# Sets `binaries`.
build_release() {
    if [ -n "${GATEHOUSE_BINARIES:-}" ]; then
        binaries=$(cd "$GATEHOUSE_BINARIES" && pwd)
        return
    fi
    local flags
    choose_release_flags
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
