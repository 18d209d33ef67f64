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

# Sets `python` to one that reads YAML.
ensure_python_yaml() {
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import yaml' 2>/dev/null; then return; fi
    done
    if [ "$(uname)" = Darwin ]; then fail "Python lacks PyYAML. Install with: pip3 install pyyaml"; fi
    install_packages python3 python3-yaml || fail "missing, and installing it needs root: python3-yaml"
}
