# What each service is told in development: ../settings/NAME.env. Whatever the environment says already stands.

url() { printf 'http://127.0.0.1:%s' "$(port "$1")"; }
admin_url() { printf 'http://127.0.0.1:%s' "$(admin_port "$1")"; }

database_url() {
    local password
    password=$(upper "$1")_DATABASE_PASSWORD
    printf 'postgres://%s:%s@127.0.0.1:%s/%s' "$1" "${!password}" "$(port postgres)" "$1"
}

# settings NAME: lines KEY=VALUE. Databases stand under a host name, since names take another path than addresses.
settings() { fill "$scripts/settings/$1.env"; }

# fill FILE: prints it with this copy's ports, folders and secrets.
fill() (
    set -a
    KEYS=$keys STATE=$state ROOT=$root
    for name in "${!offsets[@]}"; do
        declare "$(upper "$name")_PORT=$(port "$name")" "$(upper "$name")_ADMIN_PORT=$(admin_port "$name")"
    done
    # shellcheck source=/dev/null
    . "$keys/secrets.env"
    envsubst <"$1"
)

# Settings of make, of these scripts and of other services. A service refuses unknown ones, and sees no other's secrets.
foreign_variables() {
    local own name
    own=$(upper "$1")_
    for name in $(compgen -e); do
        case $name in
        GATEHOUSE_LOCAL | GATEHOUSE_BINARIES | GATEHOUSE_RELEASE | GATEHOUSE_API_* | GATEHOUSE_FAULT_* | \
            GATEHOUSE_PROFILE | GATEHOUSE_RESTORE_* | GATEHOUSE_SCALE_* | GATEHOUSE_SCREENSHOTS | GATEHOUSE_TIMING_*) say "$name" ;;
        "$own"*) ;;
        GATEWAY_* | IDENTITY_* | TOKENS_* | DEVICES_* | APPLE_SIMULATOR_* | POSTGRES_*) say "$name" ;;
        esac
    done
}

# Sets `environment`, the words in front of a service's command: `env` becomes that command and keeps its process id.
choose_environment() {
    local line name
    environment=(env)
    for name in $(foreign_variables "$1"); do
        environment+=(-u "$name")
    done
    environment+=("GATEHOUSE_ENVIRONMENT=${GATEHOUSE_ENVIRONMENT:-development}")
    while read -r line; do
        name=${line%%=*}
        if [ -z "${!name+set}" ]; then environment+=("$line"); fi
    done <<<"$(settings "$1")"
}
