#!/usr/bin/env bash
# keys.sh          makes the keys of an installation that are missing, in the volumes of the services that use them
# keys.sh apple    and puts Apple's private key, which it reads from standard input, beside them
. "$(dirname "$0")/../../tools/parts/common.sh"
. "$(dirname "$0")/../../tools/parts/keys.sh"

apple_key=apple-client-secret.p8

# Whole or not at all.
read_apple_key() {
    (umask 077 && cat >"$keys/$apple_key.new")
    openssl pkey -in "$keys/$apple_key.new" -noout -text 2>/dev/null | grep prime256v1 >/dev/null || {
        rm "$keys/$apple_key.new"
        fail "this is no P-256 private key in PEM, as Apple's AuthKey_….p8 is"
    }
    mv "$keys/$apple_key.new" "$keys/$apple_key"
}

keys=/keys/tokens
write_key access-token-private.pem rsa_key
write_key refresh.keys new_refresh_key

keys=/keys/identity
write_key sealing.keys server_key 1
write_key pepper.keys server_key 1
if [ "${1:-}" = apple ]; then
    read_apple_key
elif [ "$GATEHOUSE_ENVIRONMENT" = development ]; then
    write_key $apple_key ec_key
elif [ -n "${IDENTITY_APPLE_KEY_ID:-}" ] && [ ! -f $keys/$apple_key ]; then
    fail "IDENTITY_APPLE_KEY_ID is set, and Apple's private key is not there yet:" \
        "docker compose run --rm -T keys apple < AuthKey_$IDENTITY_APPLE_KEY_ID.p8"
fi

keys=/keys/devices
for name in push-tokens.keys push-token-hash.key; do write_key $name server_key 1; done

# The volumes; what they lie in belongs to the image.
chown -R 10001:10001 /keys/*
# The services refuse a key that other users may read.
chmod -R o= /keys/*
