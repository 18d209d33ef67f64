#!/usr/bin/env bash
# deploy/kubernetes/secrets.sh [production|development] > secrets.yaml
# Makes the keys, credentials and passwords of one new installation, as manifests. Keep the file that you applied as you
# keep a key: new keys sign every user out. Production needs the settings IDENTITY_DATABASE_URL, TOKENS_DATABASE_URL,
# DEVICES_DATABASE_URL and REDIS_URL (or GATEWAY_REDIS_URL, IDENTITY_REDIS_URL, TOKENS_REDIS_URL, for a user each). It
# takes IDENTITY_MIGRATION_DATABASE_URL and its like, where the others lead to a pooler, and APPLE_PRIVATE_KEY_FILE.
. "$(dirname "$0")/../../tools/parts/common.sh"
. "$(dirname "$0")/../../tools/parts/keys.sh"

export GATEHOUSE_ENVIRONMENT=${1:-production}
# By their mark production knows secrets that were made for development.
case $GATEHOUSE_ENVIRONMENT in
production) mark= ;;
development) mark=dev- ;;
*) fail "usage: secrets.sh [production|development] > secrets.yaml" ;;
esac

# Where production/authorities-of-services.yaml mounts them.
authorities=/etc/gatehouse/authorities
verified="sslmode=verify-full&sslrootcert=$authorities/postgresql.pem"

umask 077
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT

# secret NAME KEY=VALUE…
secret() {
    local entry
    printf '%s\n' --- "apiVersion: v1" "kind: Secret" "metadata: {name: $1, namespace: gatehouse}" "data:"
    for entry in "${@:2}"; do
        say "  ${entry%%=*}: $(printf '%s' "${entry#*=}" | base64 | tr -d '\n')"
    done
}

random() { printf '%s%s' "$mark" "$(openssl rand -hex 24)"; }

# One for each pair of caller and callee.
for pair in gateway_identity gateway_tokens gateway_devices identity_tokens identity_devices devices_tokens; do
    printf -v "$pair" '%s' "$(random)"
done

write_key access-token-private.pem rsa_key
write_key refresh.keys new_refresh_key
for name in pepper.keys sealing.keys push-tokens.keys push-token-hash.key; do write_key $name server_key 1; done
identity_keys=("pepper.keys=$(cat "$keys/pepper.keys")" "sealing.keys=$(cat "$keys/sealing.keys")")

if [ "$GATEHOUSE_ENVIRONMENT" = development ]; then
    passwords=("postgres=$(random)")
    for name in identity tokens devices; do
        password=$(random)
        passwords+=("$name=$password")
        printf -v "$(upper "$name")_DATABASE_URL" '%s' "postgres://$name:$password@postgresql:5432/$name"
    done
    REDIS_URL=redis://redis:6379
    write_key apple-client-secret.p8 ec_key
    APPLE_PRIVATE_KEY_FILE=$keys/apple-client-secret.p8
    secret postgresql-passwords "${passwords[@]}"
fi
if [ -n "${APPLE_PRIVATE_KEY_FILE:-}" ]; then
    [ -f "$APPLE_PRIVATE_KEY_FILE" ] || fail "there is no file $APPLE_PRIVATE_KEY_FILE"
    identity_keys+=("apple-client-secret.p8=$(cat "$APPLE_PRIVATE_KEY_FILE")")
fi

for name in identity tokens devices; do
    variable=$(upper "$name")_DATABASE_URL
    [ -n "${!variable:-}" ] || fail "$variable is not set: postgres://USER:PASSWORD@HOST/NAME?$verified"
    migration=$(upper "$name")_MIGRATION_DATABASE_URL
    secret "$name-database" "url=${!variable}" "migration-url=${!migration:-${!variable}}"
done
for name in gateway identity tokens; do
    variable=$(upper "$name")_REDIS_URL
    url=${!variable:-${REDIS_URL:-}}
    [ -n "$url" ] || fail "REDIS_URL is not set: rediss://USER:PASSWORD@HOST?sslrootcert=$authorities/redis.pem"
    secret "$name-redis" "url=$url"
done

secret gateway-credentials "identity=$gateway_identity" "tokens=$gateway_tokens" "devices=$gateway_devices"
secret identity-credentials "tokens=$identity_tokens" "devices=$identity_devices"
secret identity-callers "gateway=$gateway_identity" "events=$(random)" "admin=$(random)" "bounces=$(random)"
secret identity-keys "${identity_keys[@]}"
secret tokens-callers "gateway=$gateway_tokens" "identity=$identity_tokens" "devices=$devices_tokens" \
    "introspection=$(random)"
secret tokens-signing-key "access-token-private.pem=$(cat "$keys/access-token-private.pem")"
secret tokens-refresh-keys "refresh.keys=$(cat "$keys/refresh.keys")"
secret devices-credentials "tokens=$devices_tokens"
secret devices-callers "gateway=$gateway_devices" "identity=$identity_devices"
secret devices-keys "push-tokens.keys=$(cat "$keys/push-tokens.keys")" \
    "push-token-hash.key=$(cat "$keys/push-token-hash.key")"
