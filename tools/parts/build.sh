# shellcheck shell=bash
# Building the binaries. Tests that have built already say where: GATEHOUSE_BINARIES.

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

# swift_build ARGUMENT…: SwiftPM plans the whole build anew, a dozen seconds of CPU time, whenever anything in its
# environment is another, SHLVL included. So it sees of it what it may need, and no more.
swift_build() {
    local name environment=(env -i)
    for name in PATH HOME USER LOGNAME LANG LC_ALL TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME SWIFT_DETERMINISTIC_HASHING \
        GATEHOUSE_SYSTEM_ONLY SWIFT_EXEC CC CXX SDKROOT DEVELOPER_DIR TOOLCHAINS LD_LIBRARY_PATH PKG_CONFIG_PATH \
        SSL_CERT_FILE SSL_CERT_DIR GIT_CONFIG_GLOBAL GIT_SSL_CAINFO http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY \
        NO_PROXY; do
        if [ -n "${!name+set}" ]; then environment+=("$name=${!name}"); fi
    done
    "${environment[@]}" swift build "$@"
}

# Sets `binaries`. Builds the programs that `make up` starts, and nothing else.
build_release() {
    if [ -n "${GATEHOUSE_BINARIES:-}" ]; then
        binaries=$(cd "$GATEHOUSE_BINARIES" && pwd)
        return
    fi
    local flags
    local -x GATEHOUSE_SYSTEM_ONLY=1
    choose_release_flags
    cd "$root"
    binaries=$(swift_build "${flags[@]}" --show-bin-path)
    if [ -x "$binaries/gateway" ]; then
        note "Building"
    else
        note "Building for the first time: about ten minutes on two cores, with every dependency"
    fi
    # One call builds all: each call costs a second or two even when there is nothing to do.
    swift_build "${flags[@]}" || fail "the build failed"
}

# Sets `bench`: the program of Tests/Benchmarks, a package of its own.
build_benchmarks() {
    local flags
    choose_release_flags
    flags+=(--package-path "$root/Tests/Benchmarks" --scratch-path "$root/.build-benchmarks")
    ensure_packages
    note "Building the benchmarks: several minutes the first time"
    swift_build "${flags[@]}" || fail "the build of the benchmarks failed"
    bench=$(swift_build "${flags[@]}" --show-bin-path)/bench
}
