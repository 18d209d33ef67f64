# What the scripts need of the system: Debian's packages are installed where they are missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ensure_packages() {
    # pkg-config is for SwiftPM, PgBouncer, nghttpd and Authlib for tests, libcurl for Foundation if linked statically.
    local missing packages=(
        curl gettext-base jq openssl pkg-config postgresql pgbouncer redis-server nghttp2-server
        python3 python3-authlib python3-requests libpq-dev libhiredis-dev libssl-dev libargon2-dev libidn2-dev
        libcurl4-openssl-dev
    )
    command -v swift >/dev/null || fail "Swift 6.3 is not installed. See https://www.swift.org/install"
    missing=$(comm -23 <(printf '%s\n' "${packages[@]}" | sort) \
        <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
            sed -n 's/ installed$//p' | sort))
    # shellcheck disable=SC2086 # one word a package
    install_packages $missing
}

# ensure_tools NAME…: programs whose package has their name; NAME=PACKAGE where it has another.
ensure_tools() {
    local tool packages=()
    for tool in "$@"; do
        command -v "${tool%%=*}" >/dev/null || packages+=("${tool#*=}")
    done
    install_packages "${packages[@]}"
}

# install_packages [NAME…]: as root or with sudo.
install_packages() {
    local as_root=()
    [ $# != 0 ] || return 0
    command -v apt-get >/dev/null || fail "missing, and this is not Debian: $*"
    note "Installing $*"
    if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
    "${as_root[@]}" "$scripts/parts/install-quietly.sh" "$@" ||
        fail "these packages are missing, and installing them needs root: $*"
}

# fetch_python_tools VARIABLE REQUIREMENT…: sets it to the folder of a Python environment that has these.
fetch_python_tools() {
    local folder=${*:2}
    folder=${folder//==/-}
    folder=$root/.local/tools/${folder// /-}
    printf -v "$1" '%s' "$folder"
    if [ -f "$folder/complete" ]; then return; fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
    note "Fetching ${*:2}"
    rm -rf "$folder"
    python3 -m venv "$folder" || fail "could not make a Python environment"
    "$folder/bin/pip" install -q --disable-pip-version-check "${@:2}" || fail "could not be fetched from PyPI: ${*:2}"
    touch "$folder/complete"
}
