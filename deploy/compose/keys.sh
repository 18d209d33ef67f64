#!/usr/bin/env bash
# Makes the keys of an installation in the volumes of the two services that use them; keys that are there stay.
# shellcheck source=../local/parts/common.sh
. "$(dirname "$0")/../local/parts/common.sh"
# shellcheck source=../local/parts/keys.sh
. "$(dirname "$0")/../local/parts/keys.sh"

keys=/keys/tokens
write_key access-token-private.pem rsa_key
write_key refresh.keys new_refresh_key

keys=/keys/identity
write_key sealing.keys server_key 1
write_key pepper.keys server_key 1
if [ "$GATEHOUSE_ENVIRONMENT" = development ]; then
    write_key apple-client-secret.p8 ec_key
elif [ ! -f $keys/apple-client-secret.p8 ]; then
    warn "Apple's private key is not there yet: copy it to $keys/apple-client-secret.p8 in the volume identity-keys"
fi

chown -R 10001:10001 /keys
# A key that was copied here may be open to everybody, which the services refuse.
chmod -R o= /keys
