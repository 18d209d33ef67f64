# Two replicas of each service in `make test-change`, with their settings in files, behind HAProxy. Needs servers.sh.

replicas="1 2"
# CALLER:CALLEE
pairs="gateway:tokens gateway:identity gateway:devices identity:tokens identity:devices devices:tokens"

# Offsets of the ports: NAME-1 at +0, NAME-2 at +1, their admin ports 8 above.
service_port() {
    local offset
    case ${1%-*} in gateway) offset=0 ;; identity) offset=2 ;; tokens) offset=4 ;; devices) offset=6 ;; esac
    printf '%s' $((base + offset + ${1##*-} - 1))
}

service_admin_port() { printf '%s' $(($(service_port "$1") + 8)); }

addresses() { printf 'http://127.0.0.1:%s,http://127.0.0.1:%s' "$(service_port "$1-1")" "$(service_port "$1-2")"; }

# database_address SERVICE ROLE PASSWORD: both servers; the one that takes writes is used.
database_address() {
    printf 'postgres://%s:%s@127.0.0.1:%s,127.0.0.1:%s/%s?sslmode=verify-full&sslrootcert=%s' "$2" "$3" \
        "${postgres_port[1]}" "${postgres_port[2]}" "$1" "$tls/authorities.pem"
}

# set_in SERVICE KEY VALUE: a line of the service's settings.
set_in() {
    sed -i "/^$2=/d" "$state/$1.env"
    say "$2=$3" >>"$state/$1.env"
}

# Writes each service's settings: those of NAME.env here, with the addresses and credentials of this run.
write_settings() {
    local name pair secret
    # The machine may be busy with other work, and what is counted is not how fast it is.
    export PATIENCE_MS=4000 KEYS=$keys TLS=$tls ACCESS_LIFETIME=$access_lifetime APPLE_URL=$apple_url
    export REDIS_URL="rediss://127.0.0.1:$redis_port?sslrootcert=$tls/authorities.pem"
    export HOOK_URL=http://127.0.0.1:$hook_port
    HOOK_SECRET=$(openssl rand -hex 24)
    export HOOK_SECRET
    for name in $in_order; do envsubst <"$scripts/change/$name.env" >"$state/$name.env"; done
    for name in identity tokens devices; do
        set_in "$name" "$(upper "$name")_DATABASE_URL" "$(database_address "$name" "$name" "${database_password[$name]}")"
    done
    for pair in $pairs; do
        set_in "${pair%:*}" "$(upper "${pair/:/_}")_URL" "$(addresses "${pair#*:}")"
        secret=$(openssl rand -hex 24)
        show_credential "$pair" "$secret"
        accept_credentials "$pair" "$secret"
    done
}

# show_credential CALLER:CALLEE SECRET: the caller's setting.
show_credential() { set_in "${1%:*}" "$(upper "${1/:/_}")_CREDENTIAL" "$2"; }

# accept_credentials CALLER:CALLEE SECRET[,SECRET]: the callee's setting.
accept_credentials() { set_in "${1#*:}" "$(upper "${1#*:}_${1%:*}")_CREDENTIALS" "$2"; }

# environment_of NAME-NUMBER: sets `environment`, the words in front of the service's command.
environment_of() {
    local line name=${1%-*}
    environment=(env -i "PATH=$PATH")
    while read -r line; do environment+=("$line"); done <"$state/$name.env"
    environment+=("$(upper "$name")_LISTEN_ADDRESS=127.0.0.1:$(service_port "$1")")
    environment+=("$(upper "$name")_ADMIN_LISTEN_ADDRESS=127.0.0.1:$(service_admin_port "$1")")
}

# run_service NAME COMMAND…: a command of the service with the settings of its first replica.
run_service() {
    environment_of "$1-1"
    "${environment[@]}" "$binaries/$1" "${@:2}"
}

# start_replica NAME-NUMBER: of the binaries that `binaries` names.
start_replica() {
    environment_of "$1"
    start "$1" "${environment[@]}" "$binaries/${1%-*}" serve
    await "$1" 60 replica_ready "$1"
}

replica_ready() { curl -fs -o /dev/null --max-time 2 "http://127.0.0.1:$(service_admin_port "$1")/readyz"; }

# roll NAME…: one replica after the other, told by SIGTERM to stop; the next one when the one before is ready.
roll() {
    local name number
    for name in "$@"; do
        for number in $replicas; do
            stop "$name-$number"
            start_replica "$name-$number"
        done
    done
}

migrate_all() {
    local name
    for name in identity tokens devices; do run_service "$name" migrate up >>"$logs/migrations.log" 2>&1; done
}

start_balancer() {
    start balancer env BALANCER_PORT="$1" \
        GATEWAY_1_PORT="$(service_port gateway-1)" GATEWAY_1_ADMIN_PORT="$(service_admin_port gateway-1)" \
        GATEWAY_2_PORT="$(service_port gateway-2)" GATEWAY_2_ADMIN_PORT="$(service_admin_port gateway-2)" \
        haproxy -db -f "$scripts/change/haproxy.cfg"
    await balancer 10 port_open "$1"
}
