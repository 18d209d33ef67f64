# shellcheck shell=bash
# What each service is told in development. Whatever the environment says already stands.

address() { printf '127.0.0.1:%s' "$(port "$1")"; }
admin_address() { printf '127.0.0.1:%s' "$(admin_port "$1")"; }
url() { printf 'http://127.0.0.1:%s' "$(port "$1")"; }
admin_url() { printf 'http://127.0.0.1:%s' "$(admin_port "$1")"; }
redis_url() { printf 'redis://127.0.0.1:%s' "$(port redis)"; }

# database_url SERVICE [HOST]
database_url() {
    local password
    password=$(upper "$1")_DATABASE_PASSWORD
    printf 'postgres://%s:%s@%s:%s/%s' "$1" "${!password}" "${2:-127.0.0.1}" "$(port postgres)" "$1"
}

# settings NAME: lines KEY=VALUE. The databases stand under a name, as in an installation: names are looked up otherwise
# than addresses are read.
settings() {
    local prefix
    prefix=$(upper "$1")
    say "${prefix}_LISTEN_ADDRESS=$(address "$1")"
    say "${prefix}_ADMIN_LISTEN_ADDRESS=$(admin_address "$1")"
    case $1 in
    gateway) cat <<END ;;
GATEWAY_ISSUER=http://gatehouse.localhost
GATEWAY_AUDIENCE=gatehouse
GATEWAY_REDIS_URL=$(redis_url)
GATEWAY_TOKENS_URL=$(url tokens)
GATEWAY_IDENTITY_URL=$(url identity)
GATEWAY_DEVICES_URL=$(url devices)
GATEWAY_TOKENS_CREDENTIAL=$GATEWAY_TOKENS_SECRET
GATEWAY_IDENTITY_CREDENTIAL=$GATEWAY_IDENTITY_SECRET
GATEWAY_DEVICES_CREDENTIAL=$GATEWAY_DEVICES_SECRET
END
    identity) cat <<END ;;
IDENTITY_DATABASE_URL=$(database_url identity localhost)
IDENTITY_REDIS_URL=$(redis_url)
IDENTITY_TOKENS_URL=$(url tokens)
IDENTITY_DEVICES_URL=$(url devices)
IDENTITY_TOKENS_CREDENTIAL=$IDENTITY_TOKENS_SECRET
IDENTITY_DEVICES_CREDENTIAL=$IDENTITY_DEVICES_SECRET
IDENTITY_GATEWAY_CREDENTIALS=$GATEWAY_IDENTITY_SECRET
IDENTITY_EVENTS_CREDENTIALS=${EVENTS_IDENTITY_SECRET:-}
IDENTITY_ADMIN_CREDENTIALS=${ADMIN_IDENTITY_SECRET:-}
IDENTITY_BOUNCES_CREDENTIALS=${BOUNCES_IDENTITY_SECRET:-}
IDENTITY_APPLE_KEYS_URL=$(url apple-simulator)/auth/keys
IDENTITY_APPLE_TOKEN_URL=$(url apple-simulator)/auth/token
IDENTITY_APPLE_REVOKE_URL=$(url apple-simulator)/auth/revoke
IDENTITY_APPLE_MIGRATION_URL=$(url apple-simulator)/auth/usermigrationinfo
IDENTITY_APPLE_CLIENT_IDS=com.example.app
IDENTITY_APPLE_TEAM_ID=DEVTEAM000
IDENTITY_APPLE_KEY_ID=DEVKEY0000
IDENTITY_APPLE_PRIVATE_KEY_FILE=$keys/apple-client-secret.p8
IDENTITY_SEALING_KEYS_FILE=$keys/sealing.keys
IDENTITY_PEPPER_KEYS_FILE=$keys/pepper.keys
IDENTITY_MESSAGE_FOLDER=$state/mail
END
    tokens) cat <<END ;;
TOKENS_ISSUER=http://gatehouse.localhost
TOKENS_AUDIENCE=gatehouse
TOKENS_CLIENT_ID=com.example.app
TOKENS_DATABASE_URL=$(database_url tokens localhost)
TOKENS_REDIS_URL=$(redis_url)
TOKENS_SIGNING_KEY_FILE=$keys/access-token-private.pem
TOKENS_REFRESH_KEYS_FILE=$keys/refresh.keys
TOKENS_GATEWAY_CREDENTIALS=$GATEWAY_TOKENS_SECRET
TOKENS_IDENTITY_CREDENTIALS=$IDENTITY_TOKENS_SECRET
TOKENS_DEVICES_CREDENTIALS=$DEVICES_TOKENS_SECRET
TOKENS_INTROSPECTION_CREDENTIALS=${INTROSPECTION_TOKENS_SECRET:-}
END
    devices) cat <<END ;;
DEVICES_DATABASE_URL=$(database_url devices localhost)
DEVICES_TOKENS_URL=$(url tokens)
DEVICES_TOKENS_CREDENTIAL=$DEVICES_TOKENS_SECRET
DEVICES_GATEWAY_CREDENTIALS=$GATEWAY_DEVICES_SECRET
DEVICES_IDENTITY_CREDENTIALS=$IDENTITY_DEVICES_SECRET
END
    apple-simulator) cat <<END ;;
APPLE_SIMULATOR_APNS_LISTEN_ADDRESS=127.0.0.1:$(port apns-simulator)
END
    esac
}

# Names that belong to these scripts or to other services. A service sees only what is its own: it would refuse an
# unknown setting, and it has no business with another's secrets.
foreign_variables() {
    local own name
    own=$(upper "$1")_
    for name in $(compgen -e); do
        case $name in
        GATEWAY_URL | IDENTITY_URL | TOKENS_URL | DEVICES_URL | APPLE_SIMULATOR_URL) say "$name" ;;
        *_ADMIN_URL | *_PID) say "$name" ;;
        GATEHOUSE_PORT_BASE | GATEHOUSE_LOCAL | GATEHOUSE_BINARIES | GATEHOUSE_TEST_*) say "$name" ;;
        "$own"*) ;;
        GATEWAY_* | IDENTITY_* | TOKENS_* | DEVICES_* | APPLE_SIMULATOR_* | POSTGRES_*) say "$name" ;;
        esac
    done
}

# Sets `environment`: the words to put in front of a service's command. `env` becomes that command, so that the process
# id stays the service's own.
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
