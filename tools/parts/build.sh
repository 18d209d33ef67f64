# Building the binaries. Tests that have built already say where: GATEHOUSE_BINARIES.

# SwiftPM plans the whole build anew whenever its environment differs, SHLVL included. So it sees what it may need.
swift_build() {
    local name environment=(env -i)
    for name in $(compgen -e); do
        case $name in
        PATH | HOME | USER | LOGNAME | LANG | LC_* | TMPDIR | XDG_* | CC | CXX | LD_LIBRARY_PATH | PKG_CONFIG_PATH | \
            SWIFT_* | SSL_* | GIT_* | *_proxy | *_PROXY | GATEHOUSE_SYSTEM_ONLY) environment+=("$name=${!name}") ;;
        esac
    done
    "${environment[@]}" swift build "$@"
}

# Sets `binaries`. Builds what `make up` starts: for debugging, which takes half as long, or with GATEHOUSE_RELEASE=1 by
# the flags of the images.
build_system() {
    if [ -n "${GATEHOUSE_BINARIES:-}" ]; then
        binaries=$(cd "$GATEHOUSE_BINARIES" && pwd)
        return
    fi
    local flags=(--explicit-target-dependency-import-check error)
    local -x GATEHOUSE_SYSTEM_ONLY=1
    if [ -n "${GATEHOUSE_RELEASE:-}" ]; then read -ra flags <"$root/deploy/release-flags"; fi
    cd "$root"
    binaries=$(swift_build "${flags[@]}" --show-bin-path)
    if [ -x "$binaries/gateway" ]; then
        note "Building"
    else
        note "Building for the first time: several minutes, with every dependency"
    fi
    # One call builds all: each call costs a second or two even when there is nothing to do.
    swift_build "${flags[@]}" || fail "the build failed"
}

# Sets `bench`: the program of Tests/Benchmarks.
build_benchmarks() {
    local flags
    read -ra flags <"$root/deploy/release-flags"
    flags+=(--package-path "$root" --product bench)
    ensure_packages
    note "Building the benchmarks"
    swift_build "${flags[@]}" || fail "the build of the benchmarks failed"
    bench=$(swift_build "${flags[@]}" --show-bin-path)/bench
}
