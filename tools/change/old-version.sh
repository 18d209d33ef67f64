# shellcheck shell=bash
# The binaries of the version before, for `make test-change`.

# Sets `old_binaries`. GATEHOUSE_OLD_BINARIES names a folder with them, GATEHOUSE_OLD the revision to build them of; without
# either the last release's tag counts. Empty where GATEHOUSE_OLD is `none`, or before the first release.
build_old_version() {
    local revision tree=$root/.local/old-version
    old_binaries=
    if [ -n "${GATEHOUSE_OLD_BINARIES:-}" ]; then
        old_binaries=$(cd "$GATEHOUSE_OLD_BINARIES" && pwd)
        return
    fi
    [ "${GATEHOUSE_OLD:-}" != none ] || return 0
    revision=${GATEHOUSE_OLD:-$(git -C "$root" describe --tags --match 'v*' --abbrev=0 2>/dev/null || true)}
    if [ -z "$revision" ]; then
        note "No release to run beside this version: this step is left out. GATEHOUSE_OLD=REVISION builds one"
        return
    fi
    note "Building $revision: as long as a first build takes"
    if [ -d "$tree" ]; then
        git -C "$tree" checkout -q --detach "$(git -C "$root" rev-parse "$revision^{commit}")"
    else
        git -C "$root" worktree prune
        git -C "$root" worktree add -q --detach "$tree" "$revision"
    fi
    (cd "$tree" && swift build -c release >&2) || fail "the build of $revision failed"
    old_binaries=$(cd "$tree" && swift build -c release --show-bin-path)
}
