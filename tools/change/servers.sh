# What the services of `make test-change` need: an authority, PostgreSQL with a standby, and Redis, all with TLS.

# new_authority NAME: a certificate authority of this run.
new_authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$tls/$1.key" -out "$tls/$1.pem" \
        -days 2 -subj "/CN=$1" 2>/dev/null
}

# new_certificate NAME AUTHORITY: for this machine, put in place by renaming: first the key, then the certificate.
new_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 60 -subj "/CN=auth.example.com" \
        -CA "$tls/$2.pem" -CAkey "$tls/$2.key" -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" \
        -addext basicConstraints=critical,CA:FALSE -keyout "$tls/$1.key.new" -out "$tls/$1.pem.new" 2>/dev/null
    mv "$tls/$1.key.new" "$tls/$1.key"
    mv "$tls/$1.pem.new" "$tls/$1.pem"
}

# trust NAME…: clients believe these authorities.
trust() {
    (cd "$tls" && cat "${@/%/.pem}" >authorities.new && mv authorities.new authorities.pem)
}

# ---- PostgreSQL

postgres_data() { printf '%s/postgres-%s' "$state" "$1"; }

# superuser NUMBER PSQL-ARGUMENT…: psql as superuser of one of the two.
superuser() {
    psql -q -X "$(superuser_url "$1")" -v ON_ERROR_STOP=1 "${@:2}"
}

superuser_url() {
    printf 'postgres://postgres:%s@127.0.0.1:%s/postgres?sslmode=verify-full&sslrootcert=%s' \
        "$(cat "$(postgres_data 1).password")" "${postgres_port[$1]}" "$tls/authorities.pem"
}

# ask_postgres NUMBER QUERY
ask_postgres() { superuser "$1" -At -c "$2"; }

# give_certificate NUMBER
give_certificate() {
    local data
    data=$(postgres_data "$1")
    install -m 600 "$tls/postgres.key" "$data/server.key.new"
    install -m 600 "$tls/postgres.pem" "$data/server.crt.new"
    belongs_to_postgres "$data/server.key.new" "$data/server.crt.new"
    mv "$data/server.key.new" "$data/server.key"
    mv "$data/server.crt.new" "$data/server.crt"
}

start_database() {
    start_postgres "postgres-$1" "$(postgres_data "$1")" "${postgres_port[$1]}" -c ssl=on -c max_connections=300 \
        -c shared_buffers=64MB -c wal_keep_size=256MB
}

# start_standby NUMBER PRIMARY: a copy of the primary that follows it.
start_standby() {
    copy_cluster "$(postgres_data "$1")" "$(superuser_url "$2")"
    start_database "$1"
    wait_until 30 standby_follows "$2" || fail "the standby does not follow"
}

standby_follows() { [ "$(ask_postgres "$1" "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" = 1 ]; }

# follow NUMBER PRIMARY: a server that was stopped cleanly becomes the standby of the other one.
follow() {
    local data
    data=$(postgres_data "$1")
    printf "primary_conninfo = '%s'\nrecovery_target_timeline = 'latest'\n" "$(superuser_url "$2")" \
        >>"$data/postgresql.auto.conf"
    touch "$data/standby.signal"
    belongs_to_postgres "$data/standby.signal"
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
