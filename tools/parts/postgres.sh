# shellcheck shell=bash
# A private PostgreSQL: TCP on the loopback address only, data under the state folder, one role and database a service.
# Where its programs are, packages.sh knows.

# postgres_bin [DATA]: the folder of PostgreSQL's programs; of the version that made the data, when there is any.
postgres_bin() {
    local version='*' folder newest=
    if [ -n "${1:-}" ] && [ -f "$1/PG_VERSION" ]; then version=$(cat "$1/PG_VERSION"); fi
    while read -r folder; do
        if [ -x "$folder/initdb" ]; then newest=$folder; fi
    done < <(postgresql_folders "$version")
    if [ -z "$newest" ] && command -v initdb >/dev/null; then newest=$(dirname "$(command -v initdb)"); fi
    [ -n "$newest" ] && printf '%s' "$newest"
}

# Sets `as_postgres`: what stands in front of a command of PostgreSQL, which refuses to run as root. Its user may not
# enter a clone that only root may enter, unless it is given the right to pass by folders' modes.
choose_postgres_user() {
    as_postgres=()
    [ "$(id -u)" = 0 ] || return 0
    # Asked by stat, since `test -x` does not count capabilities.
    local capability user=(setpriv --reuid=postgres --regid=postgres --init-groups)
    as_postgres=("${user[@]}")
    if "${as_postgres[@]}" stat "$1/." >/dev/null 2>&1; then return; fi
    for capability in +dac_read_search +dac_override; do
        as_postgres=("${user[@]}" "--inh-caps=$capability" "--ambient-caps=$capability")
        if "${as_postgres[@]}" stat "$1/." >/dev/null 2>&1; then return; fi
    done
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
    (cd / && "${as_postgres[@]+"${as_postgres[@]}"}" "$(postgres_bin)/initdb" -D "$1.new/data" --username=postgres \
        --pwfile="$1.new/password" --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-instructions) \
        >>"$logs/postgres.log" 2>&1 || {
        show_log postgres
        fail "initdb failed"
    }
    mv "$1.new/data" "$1"
    rm -rf "$1.new"
}

# start_postgres DATA PORT [OPTION…]
start_postgres() {
    local data=$1 port=$2
    shift 2
    forget_killed_postgres "$data"
    choose_postgres_user "$data"
    start postgres "${as_postgres[@]+"${as_postgres[@]}"}" "$(postgres_bin "$data")/postgres" -D "$data" -p "$port" \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories= "$@"
    await postgres 30 "$(postgres_bin "$data")/pg_isready" -q -h 127.0.0.1 -p "$port"
}

# A server that was killed leaves its lock file. PostgreSQL takes it for a running one as long as nobody has collected
# the dead process, which in a container may be for ever; whether its data is still in use it finds out by itself.
forget_killed_postgres() {
    if [ -f "$run/postgres.pid" ] && [ -f "$1/postmaster.pid" ] && dead postgres &&
        [ "$(head -n 1 "$1/postmaster.pid")" = "$(pid_of postgres)" ]; then
        rm -f "$1/postmaster.pid"
    fi
}

# make_database SERVICE: its role and its database, to which nobody else may connect. Can be repeated.
make_database() {
    local variable
    variable=$(upper "$1")_DATABASE_PASSWORD
    SERVICE_PASSWORD=${!variable} PGPASSWORD=$(cat "$state/postgres.password") psql -q -X -h 127.0.0.1 \
        -p "$(port postgres)" -U postgres -d postgres -v ON_ERROR_STOP=1 -v name="$1" \
        -f "$root/deploy/postgres/service-database.sql" >/dev/null || fail "could not make the database $1"
}
