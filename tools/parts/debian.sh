#!/usr/bin/env bash
# Everything that is Debian's: where its programs are, which of its packages are missing, how they are installed. Sourced
# by packages.sh, where the system is no Mac. debian.sh PACKAGE… as root: installs packages and starts no system-wide
# server with them.

# postgresql_folders VERSION: where the programs of a PostgreSQL may be; `*` for any version.
# shellcheck disable=SC2086 # a pattern
postgresql_folders() { printf '%s\n' /usr/lib/postgresql/$1/bin; }

# Prints the packages whose content is not on this machine. What is there already, from wherever it came, stays as it is.
missing_packages() {
    local package installed
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian: install PostgreSQL, PgBouncer, Redis, curl, jq, openssl, pkg-config, Python with Authlib and Requests, and the headers of libpq, hiredis, OpenSSL, argon2 and libcurl, then comment out this line"
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

# As root or with sudo.
install_packages() {
    command -v apt-get >/dev/null || fail "missing, and this is not Debian: $*"
    note "Installing $*"
    if [ "$(id -u)" = 0 ]; then
        bash "$scripts/parts/debian.sh" "$@"
    else
        sudo bash "$scripts/parts/debian.sh" "$@"
    fi
}

# What root does. Packages turn their services on: not at once, and not for the next boot.
install_quietly() {
    local service new=
    policy=/usr/sbin/policy-rc.d
    clusters=/etc/postgresql-common/createcluster.d
    for service in redis-server pgbouncer haproxy prometheus; do
        [ -e "/etc/init.d/$service" ] || new+=" $service"
    done

    exec 8>/run/lock/gatehouse-packages
    flock 8

    trap restore EXIT

    # Debian asks this file before it starts a service; a file of the machine's own keeps its say about all others.
    [ ! -e "$policy" ] || mv "$policy" "$policy.gatehouse"
    cat >"$policy" <<POLICY
#!/bin/sh
case "\$1" in redis* | postgresql* | haproxy* | pgbouncer* | prometheus*) exit 101 ;; esac
if [ -x $policy.gatehouse ]; then exec $policy.gatehouse "\$@"; fi
exit 0
POLICY
    chmod 755 "$policy"

    # PostgreSQL's package makes a cluster and starts it at the next boot, unless told not to.
    mkdir -p "$clusters"
    echo 'create_main_cluster = false' >"$clusters/gatehouse.conf"

    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"

    for service in $new; do
        [ ! -e "/etc/init.d/$service" ] || update-rc.d "$service" disable >/dev/null 2>&1 || true
    done
}

restore() {
    rm -f "$policy" "$clusters/gatehouse.conf"
    rmdir "$clusters" 2>/dev/null || true
    [ ! -e "$policy.gatehouse" ] || mv "$policy.gatehouse" "$policy"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    install_quietly "$@"
fi
