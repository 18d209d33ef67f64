# shellcheck shell=bash
# Installs the Debian packages that are missing. What is there already, from wherever it came, stays as it is.

# Prints the packages whose content is not on this machine.
missing_packages() {
    local package installed
    command -v curl >/dev/null || say curl
    command -v jq >/dev/null || say jq
    command -v openssl >/dev/null || say openssl
    # SwiftPM asks pkg-config where libpq's headers are.
    command -v pkg-config >/dev/null || say pkg-config
    command -v redis-server >/dev/null || say redis-server
    postgres_bin >/dev/null || say postgresql
    command -v psql >/dev/null || say postgresql-client
    # Tests of the driver stand behind it.
    [ -x /usr/sbin/pgbouncer ] || say pgbouncer
    # The first three: a test refreshes with a stock OAuth library, by the system's own Python. The last: Foundation's
    # networking, linked statically, leaves libcurl to the linker. One query for all packages: each takes as long as this
    # whole function otherwise.
    local packages=(
        python3 python3-authlib python3-requests libpq-dev libhiredis-dev libssl-dev libargon2-dev libcurl4-openssl-dev
    )
    installed=$(dpkg-query -W -f '${Package} ${Status}\n' "${packages[@]}" 2>/dev/null || true)
    for package in "${packages[@]}"; do
        grep -q "^$package .* installed" <<<"$installed" || say "$package"
    done
}

# The same on a Mac, where nothing is installed for you.
missing_formulas() {
    command -v jq >/dev/null || say jq
    command -v pkg-config >/dev/null || say pkgconf
    command -v redis-server >/dev/null || say redis
    postgres_bin >/dev/null || say postgresql@17
    command -v pgbouncer >/dev/null || say pgbouncer
    local formula
    for formula in libpq hiredis openssl@3 argon2; do
        brew --prefix --installed "$formula" >/dev/null 2>&1 || say "$formula"
    done
}

ensure_packages() {
    local missing
    command -v swift >/dev/null || fail "Swift 6.3 is not installed. See https://www.swift.org/install"
    if [ "$(uname)" = Darwin ]; then
        missing=$(missing_formulas | xargs)
        [ -z "$missing" ] || fail "missing on this Mac: $missing. Install with: brew install $missing"
        return
    fi
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian: install PostgreSQL, PgBouncer, Redis, curl, jq, openssl, pkg-config, Python with Authlib and Requests, and the headers of libpq, hiredis, OpenSSL, argon2 and libcurl, then comment out this line"
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
    if [ "$(uname)" = Darwin ]; then fail "missing on this Mac:$missing. Install with: brew install$missing"; fi
    command -v apt-get >/dev/null || fail "missing, and this is not Debian:$missing"
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

# As root or with sudo.
install_packages() {
    note "Installing $*"
    if [ "$(id -u)" = 0 ]; then
        bash "$local_scripts/install-packages.sh" "$@"
    else
        sudo bash "$local_scripts/install-packages.sh" "$@"
    fi
}
