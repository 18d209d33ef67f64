# shellcheck shell=bash
# What the scripts need of the system: Debian's packages are installed where they are missing, a Mac's are named.

if [ "$(uname)" = Darwin ]; then
    # shellcheck source=mac.sh
    . "$(dirname "${BASH_SOURCE[0]}")/mac.sh"
else
    # shellcheck source=debian.sh
    . "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
fi

ensure_packages() {
    local missing
    type -P swift >/dev/null || fail "Swift 6.3 is not installed. See https://www.swift.org/install"
    missing=$(missing_packages | xargs)
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # one word a package
    install_packages $missing || fail "these packages are missing, and installing them needs root: $missing"
}

# ensure_tools NAME…: programs whose package, and on a Mac whose formula, has their name; NAME=PACKAGE where it has
# another.
ensure_tools() {
    local tool missing=
    for tool in "$@"; do
        command -v "${tool%%=*}" >/dev/null || missing+=" ${tool#*=}"
    done
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # one word a package
    install_packages $missing || fail "missing, and installing them needs root:$missing"
}

# fetch_python_tools FOLDER REQUIREMENT…: unless they are there. The mark comes last, so that what was cut off is made anew.
fetch_python_tools() {
    local folder=$1
    shift
    if [ -f "$folder/complete" ]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv ||
        fail "python3-venv is missing, and installing it needs root"
    note "Fetching $*"
    rm -rf "$folder"
    python3 -m venv "$folder" || fail "could not make a Python environment"
    "$folder/bin/pip" install -q --disable-pip-version-check "$@" || fail "could not be fetched from PyPI: $*"
    touch "$folder/complete"
}
