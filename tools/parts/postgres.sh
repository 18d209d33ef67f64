# A private PostgreSQL: TCP on the loopback address only, data under the state folder, one role and database a service.

# postgres_bin [DATA]: the folder of PostgreSQL's programs; of the version that made the data, when there is any.
postgres_bin() {
    local version='*'
    if [ -n "${1:-}" ] && [ -f "$1/PG_VERSION" ]; then version=$(cat "$1/PG_VERSION"); fi
    # shellcheck disable=SC2086 # a pattern
    printf '%s\n' /usr/lib/postgresql/$version/bin | sort -V | tail -n 1
}

# PL/Proxy, with which tests spread a database over several servers.
ensure_plproxy() {
    local version
    version=$(basename "$(dirname "$(postgres_bin)")")
    [ -f "/usr/share/postgresql/$version/extension/plproxy.control" ] || install_packages "postgresql-$version-plproxy"
}

# Sets `as_postgres`, the words in front of a command of PostgreSQL, which refuses to run as root.
choose_postgres_user() {
    as_postgres=()
    [ "$(id -u)" = 0 ] || return 0
    as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
    # Its user may not enter a clone that only root may enter. Asked by stat, since `test -x` does not count capabilities.
    if "${as_postgres[@]}" stat "$1/." >/dev/null 2>&1; then return; fi
    as_postgres+=(--inh-caps=+dac_override --ambient-caps=+dac_override)
    "${as_postgres[@]}" stat "$1/." >/dev/null 2>&1 ||
        fail "the user postgres cannot enter $1: give it the right to (chmod a+x on the folders above), or run as another user than root"
}

# make_cluster DATA: whole or not at all. The superuser's password stands beside the data.
make_cluster() {
    [ ! -f "$1/PG_VERSION" ] || return 0
    note "Making a private PostgreSQL"
    rm -rf "$1.new"
    mkdir -p "$1.new/data"
    chmod 700 "$1.new"
    (umask 077 && openssl rand -hex 16 | tee "$1.password" >"$1.new/password")
    if [ "$(id -u)" = 0 ]; then chown -R postgres "$1.new"; fi
    choose_postgres_user "$1.new"
    (cd / && "${as_postgres[@]}" "$(postgres_bin)/initdb" -D "$1.new/data" --username=postgres \
        --pwfile="$1.new/password" --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-instructions) \
        >>"$logs/postgres.log" 2>&1 || {
        show_log postgres
        fail "initdb failed"
    }
    mv "$1.new/data" "$1"
    rm -rf "$1.new"
}

# belongs_to_postgres FILE…: PostgreSQL's own user must read them, where root runs this.
belongs_to_postgres() {
    if [ "$(id -u)" = 0 ]; then chown postgres: "$@"; fi
}

# copy_cluster DATA URL: a copy of the running server at URL, which follows that server once it is started.
copy_cluster() {
    mkdir -p "$1"
    chmod 700 "$1"
    belongs_to_postgres "$1"
    choose_postgres_user "$1"
    (cd / && "${as_postgres[@]}" env HOME=/ "$(postgres_bin)/pg_basebackup" -D "$1" -d "$2" --checkpoint fast \
        --write-recovery-conf) >>"$logs/postgres.log" 2>&1 || {
        show_log postgres
        fail "the server could not be copied"
    }
}

# start_postgres NAME DATA PORT [OPTION…]
start_postgres() {
    local name=$1 data=$2 port=$3
    shift 3
    forget_killed_postgres "$name" "$data"
    choose_postgres_user "$data"
    # A standby is a client too, and would look into the home of the user who started it, which it may not enter.
    start "$name" "${as_postgres[@]}" env HOME=/ "$(postgres_bin "$data")/postgres" -D "$data" \
        -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= "$@"
    await "$name" 60 "$(postgres_bin "$data")/pg_isready" -q -h 127.0.0.1 -p "$port"
}

# A killed server leaves its lock file. PostgreSQL takes the file for a running server until the parent collects the
# dead process, which a container may never do. PostgreSQL itself checks whether the data is in use.
forget_killed_postgres() {
    if [ -f "$run/$1.pid" ] && [ -f "$2/postmaster.pid" ] && dead "$1" &&
        [ "$(head -n 1 "$2/postmaster.pid")" = "$(pid_of "$1")" ]; then
        rm -f "$2/postmaster.pid"
    fi
}

# make_database SERVICE: its role and its database, to which no other service may connect. Can be repeated.
make_database() {
    local variable
    variable=$(upper "$1")_DATABASE_PASSWORD
    SERVICE_PASSWORD=${!variable} PGPASSWORD=$(cat "$state/postgres.password") psql -q -X -h 127.0.0.1 \
        -p "$(port postgres)" -U postgres -d postgres -v ON_ERROR_STOP=1 -v name="$1" \
        -f "$root/deploy/postgres/service-database.sql" >/dev/null || fail "could not make the database $1"
}
