# shellcheck shell=bash
# What stands below the services in `make test-change`: an authority, a PostgreSQL primary with a standby that streams from
# it, and a Redis, all with TLS. Needs common, processes, packages and postgres of ../parts.

# new_authority NAME: a certificate authority of this run.
new_authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/$1.key" -out "$tls/$1.pem" \
        -days 2 -subj "/CN=$1" 2>/dev/null
}

# new_certificate NAME AUTHORITY: for this machine, put in place by renaming: first the key, then the certificate.
new_certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/$1.key.new" \
        -subj "/CN=auth.example.com" -out "$tls/$1.csr" 2>/dev/null
    openssl x509 -req -in "$tls/$1.csr" -CA "$tls/$2.pem" -CAkey "$tls/$2.key" -CAcreateserial -days 60 \
        -extfile <(say "subjectAltName=DNS:localhost,IP:127.0.0.1") -out "$tls/$1.pem.new" 2>/dev/null
    mv "$tls/$1.key.new" "$tls/$1.key"
    mv "$tls/$1.pem.new" "$tls/$1.pem"
}

# ---- PostgreSQL

postgres_data() { printf '%s/postgres-%s' "$state" "$1"; }

# superuser NUMBER PSQL-ARGUMENT…: psql as superuser of one of the two.
superuser() {
    local number=$1
    shift
    PGPASSWORD=$(cat "$(postgres_data 1).password") PGSSLMODE=verify-full PGSSLROOTCERT=$tls/authorities.pem \
        psql -q -X -h 127.0.0.1 -p "${postgres_port[$number]}" -U postgres -d postgres -v ON_ERROR_STOP=1 "$@"
}

ask_postgres() {
    local number=$1
    shift
    superuser "$number" -At -c "$@"
}

# give_certificate NUMBER: the server's files, as its user may read them.
give_certificate() {
    local data
    data=$(postgres_data "$1")
    cp "$tls/postgres.pem" "$data/server.crt.new"
    cp "$tls/postgres.key" "$data/server.key.new"
    chmod 600 "$data/server.key.new"
    if [ "$(id -u)" = 0 ]; then chown postgres: "$data/server.crt.new" "$data/server.key.new"; fi
    mv "$data/server.key.new" "$data/server.key"
    mv "$data/server.crt.new" "$data/server.crt"
}

start_database() {
    local number=$1 data
    data=$(postgres_data "$1")
    choose_postgres_user "$data"
    # As a client of the other one it would look into the home of whoever has started it, and may not.
    start "postgres-$number" "${as_postgres[@]+"${as_postgres[@]}"}" env HOME=/ "$(postgres_bin "$data")/postgres" \
        -D "$data" -p "${postgres_port[$number]}" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c ssl=on \
        -c max_connections=300 -c shared_buffers=64MB -c wal_keep_size=256MB
    await "postgres-$number" 60 "$(postgres_bin "$data")/pg_isready" -q -h 127.0.0.1 -p "${postgres_port[$number]}"
}

replication_url() {
    printf 'postgres://postgres:%s@127.0.0.1:%s/postgres?sslmode=verify-full&sslrootcert=%s' \
        "$(cat "$(postgres_data 1).password")" "${postgres_port[$1]}" "$tls/authorities.pem"
}

# start_standby NUMBER PRIMARY: a copy of the primary that follows it.
start_standby() {
    local data
    data=$(postgres_data "$1")
    mkdir -p "$data"
    chmod 700 "$data"
    if [ "$(id -u)" = 0 ]; then chown postgres: "$data"; fi
    choose_postgres_user "$data"
    (cd / && "${as_postgres[@]+"${as_postgres[@]}"}" env HOME=/ "$(postgres_bin)/pg_basebackup" -D "$data" \
        -d "$(replication_url "$2")" --checkpoint fast --wal-method stream --write-recovery-conf) \
        >>"$logs/postgres-$1.log" 2>&1 || fail "the standby could not be made: $logs/postgres-$1.log"
    start_database "$1"
    wait_until 30 standby_follows "$2" || fail "the standby does not follow"
}

standby_follows() { [ "$(ask_postgres "$1" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" = 1 ]; }

# follow NUMBER PRIMARY: a server that was stopped cleanly becomes the standby of the other one.
follow() {
    local data
    data=$(postgres_data "$1")
    printf "primary_conninfo = '%s'\nrecovery_target_timeline = 'latest'\n" "$(replication_url "$2")" \
        >>"$data/postgresql.auto.conf"
    touch "$data/standby.signal"
    if [ "$(id -u)" = 0 ]; then chown postgres: "$data/standby.signal"; fi
    start_database "$1"
    wait_until 30 standby_follows "$2" || fail "the server that was the primary does not follow the new one"
}

# ---- Redis

start_cache() {
    mkdir -p "$state/redis"
    start redis redis-server --bind 127.0.0.1 --port 0 --tls-port "$redis_port" --dir "$state/redis" --save '' \
        --tls-cert-file "$tls/redis.pem" --tls-key-file "$tls/redis.key" --tls-ca-cert-file "$tls/authorities.pem" \
        --tls-auth-clients no --daemonize no
    await redis 10 ask_redis ping
}

ask_redis() { redis-cli --tls --cacert "$tls/authorities.pem" -h 127.0.0.1 -p "$redis_port" "$@" >/dev/null 2>&1; }
