#!/usr/bin/env bash
# Tries which packages are named: on this system none is missing, once installed; on a Mac, for which stand-ins of uname
# and brew are enough, formulas are. What brew itself would do is not tried.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-packages
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"

rm -rf "$state"
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/mac"

expect "nothing is missing" "$local_scripts/install.sh"

# stand_in NAME LINE…
stand_in() {
    local name=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$state/mac/$name"
    chmod 755 "$state/mac/$name"
}
on_mac() { PATH=$state/mac:$PATH "$local_scripts/install.sh"; }
says() { ! on_mac >"$state/said" 2>&1 && grep -qF -- "$1" "$state/said"; }

stand_in uname 'echo Darwin'
# shellcheck disable=SC2016 # the stand-in's own
stand_in brew 'case $1 in --prefix) echo /opt/homebrew ;; list) test "$3" = libpq ;; esac'
expect "a Mac is told what to install" says "brew install hiredis openssl@3 argon2"
stand_in brew 'echo /opt/homebrew'
expect "a Mac that has it all lacks nothing" on_mac
