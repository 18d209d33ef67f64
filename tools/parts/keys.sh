# Keys and secrets, made on first use and kept. Production refuses those that begin with `# development` or `dev-`.

# write_key FILE COMMAND…: whole or not at all, and for this user's eyes only.
write_key() {
    local file=$keys/$1
    [ ! -s "$file" ] || return 0
    (
        umask 077
        if [ "${GATEHOUSE_ENVIRONMENT:-development}" = development ]; then echo '# development'; fi >"$file.new"
        # Within a condition the shell does not stop at what fails.
        "${@:2}" >>"$file.new" 2>"$file.errors" && mv "$file.new" "$file" && rm "$file.errors"
    ) || fail "could not make $file: $(tail -n 1 "$file.errors")"
}

# server_key ID: a key file of Gatehouse: lines `ID:base64 of 32 bytes`, of which the first is used for what is new.
server_key() {
    local key
    key=$(openssl rand -base64 32) || return
    echo "$1:$key"
}

# A new id: under a used one the former key's tokens would be forgeries. 255 belongs to `make bench-scale`.
new_refresh_key() { server_key $((RANDOM % 255)); }

rsa_key() { openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048; }

# Apple's own keys for client secrets are of this kind.
ec_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256; }

development_secrets() {
    local name secret
    # A secret for each pair of caller and callee.
    for name in IDENTITY_DATABASE_PASSWORD TOKENS_DATABASE_PASSWORD DEVICES_DATABASE_PASSWORD \
        GATEWAY_TOKENS_SECRET GATEWAY_IDENTITY_SECRET GATEWAY_DEVICES_SECRET IDENTITY_TOKENS_SECRET \
        IDENTITY_DEVICES_SECRET DEVICES_TOKENS_SECRET EVENTS_IDENTITY_SECRET ADMIN_IDENTITY_SECRET \
        BOUNCES_IDENTITY_SECRET INTROSPECTION_TOKENS_SECRET; do
        secret=$(openssl rand -hex 24) || return
        echo "$name=dev-$secret"
    done
}

# The simulator of Apple accepts this key. Apple's own files of keys look alike.
apns_keys() { echo "keys: [{team: DEVTEAM000, keyId: DEVKEY0000, file: $keys/apple-client-secret.p8}]"; }

push_callers() {
    echo "callers: [{name: orders, credential: dev-$(openssl rand -hex 24), bundleIds: [com.example.app], \
pushTypes: [alert, background, liveactivity, voip]}]"
}

ensure_keys() {
    local name
    mkdir -p "$keys"
    chmod 700 "$keys"
    write_key access-token-private.pem rsa_key
    write_key access-token-public.pem openssl pkey -pubout -in "$keys/access-token-private.pem"
    write_key apple-client-secret.p8 ec_key
    write_key refresh.keys new_refresh_key
    for name in sealing.keys pepper.keys push-tokens.keys push-token-hash.key; do write_key $name server_key 1; done
    write_key apns-keys.yaml apns_keys
    write_key push-callers.yaml push_callers
    write_key secrets.env development_secrets
    # shellcheck source=/dev/null
    . "$keys/secrets.env"
}
