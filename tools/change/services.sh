# shellcheck shell=bash
# Two replicas of each service in `make test-change`, as in production: each has its settings in a file, and reads them
# when it starts. Needs servers.sh.

replicas="1 2"

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

write_settings() {
    local redis="rediss://127.0.0.1:$redis_port?sslrootcert=$tls/authorities.pem" name pair
    for name in gateway identity tokens devices; do
        say "GATEHOUSE_ENVIRONMENT=production" >"$state/$name.env"
        # The machine may be busy with other work, and what is counted is not how fast it is.
        say "GATEHOUSE_PATIENCE_MS=${GATEHOUSE_CHANGE_PATIENCE_MS:-4000}" >>"$state/$name.env"
    done
    for name in identity tokens devices; do
        set_in "$name" "$(upper "$name")_DATABASE_URL" "$(database_address "$name" "$name" "${database_password[$name]}")"
    done
    for pair in GATEWAY:TOKENS GATEWAY:IDENTITY GATEWAY:DEVICES IDENTITY:TOKENS IDENTITY:DEVICES DEVICES:TOKENS; do
        credential "${pair%:*}" "${pair#*:}" "$(openssl rand -hex 24)"
    done
    for name in gateway identity tokens; do set_in "$name" "$(upper "$name")_REDIS_URL" "$redis"; done
    set_in gateway GATEWAY_ISSUER https://auth.example.com
    set_in gateway GATEWAY_TLS_CERTIFICATE_FILE "$tls/gateway.pem"
    set_in gateway GATEWAY_TLS_KEY_FILE "$tls/gateway.key"
    set_in tokens TOKENS_ISSUER https://auth.example.com
    set_in tokens TOKENS_SIGNING_KEY_FILE "$keys/signing.pem"
    set_in tokens TOKENS_REFRESH_KEYS_FILE "$keys/refresh.keys"
    # So that an old signing key's last token expires while the test runs.
    set_in tokens TOKENS_ACCESS_TOKEN_LIFETIME "$access_lifetime"
    set_in identity IDENTITY_PEPPER_KEYS_FILE "$keys/pepper.keys"
    set_in identity IDENTITY_SEALING_KEYS_FILE "$keys/sealing.keys"
    set_in identity IDENTITY_APPLE_CLIENT_IDS com.example.app
    set_in identity IDENTITY_APPLE_KEYS_URL "$apple_url/auth/keys"
    set_in identity IDENTITY_HASHING_THREADS 2
    set_in identity IDENTITY_RESET_HOOK_URL "http://127.0.0.1:$hook_port/reset"
    set_in identity IDENTITY_RESET_HOOK_SECRET "$(openssl rand -hex 24)"
    set_in identity IDENTITY_MESSAGE_HOOK_URL "http://127.0.0.1:$hook_port/message"
    set_in identity IDENTITY_MESSAGE_HOOK_SECRET "$(openssl rand -hex 24)"
    set_in gateway GATEWAY_TOKENS_URL "$(addresses tokens)"
    set_in gateway GATEWAY_IDENTITY_URL "$(addresses identity)"
    set_in gateway GATEWAY_DEVICES_URL "$(addresses devices)"
    set_in identity IDENTITY_TOKENS_URL "$(addresses tokens)"
    set_in identity IDENTITY_DEVICES_URL "$(addresses devices)"
    set_in devices DEVICES_TOKENS_URL "$(addresses tokens)"
}

# credential CALLER CALLEE SECRET [CALLER|CALLEE]: what is shown, and what is accepted; one of the two alone.
credential() {
    local lower=${1,,}
    if [ "${4:-caller}" = caller ]; then set_in "$lower" "$1_$2_CREDENTIAL" "$3"; fi
    lower=${2,,}
    if [ "${4:-callee}" = callee ]; then set_in "$lower" "$2_$1_CREDENTIALS" "$3"; fi
}

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
    local name=$1
    shift
    environment_of "$name-1"
    "${environment[@]}" "$binaries/$name" "$@"
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
            stop TERM "$name-$number"
            start_replica "$name-$number"
        done
    done
}

migrate_all() {
    local name
    for name in identity tokens devices; do run_service "$name" migrate up >>"$logs/migrations.log" 2>&1; done
}
