# shellcheck shell=bash
# The changes of docs/operations/upgrade.md and keys.md, a function each. The load goes on meanwhile. Needs services.sh.

# The order of docs/operations/upgrade.md.
in_order="tokens devices gateway identity"

# settle: for as long as it takes the load to meet what has changed.
settle() { sleep "${1:-$settling}"; }

# Replicas of the last version and of this one, at the same time, on this version's schema; forth, back and forth again.
versions_side_by_side() {
    local name new=$binaries
    migrate_all
    settle
    for name in $in_order; do
        stop TERM "$name-1"
        start_replica "$name-1"
    done
    settle 20
    # The way back: no migration is undone.
    binaries=$old_binaries
    for name in identity gateway devices tokens; do
        stop TERM "$name-1"
        start_replica "$name-1"
    done
    settle
    binaries=$new
    # shellcheck disable=SC2086 # the names are words
    roll $in_order
}

roll_tokens() { roll tokens; }
roll_devices() { roll devices; }
roll_identity() { roll identity; }
roll_gateway() { roll gateway; }

# Gateways fetch a key that they do not know, so the ten minutes of publication can be three seconds here.
signing_key() {
    run_service tokens keys generate --signing-key-file "$keys/signing.pem" >>"$logs/keys.log"
    settle 5
    run_service tokens keys rotate --publication-time 3 >>"$logs/keys.log"
    settle $((access_lifetime + 5))
    run_service tokens keys retire --notice-time 3 >>"$logs/keys.log"
    [ "$(run_service tokens keys list | wc -l)" = 1 ] || fail "the old signing key is still there"
    settle
}

# replace_key FILE SERVICE NEW-LINE: every replica knows the new key, then uses it, then forgets the old one. The last
# step waits for SECONDS, or until a command says that nobody needs the old key.
learn_key() {
    printf '%s\n' "$3" >>"$keys/$1"
    roll "$2"
}

use_key() {
    sed -n '$p' "$keys/$1" >"$keys/$1.new"
    sed '$d' "$keys/$1" >>"$keys/$1.new"
    chmod 600 "$keys/$1.new"
    mv "$keys/$1.new" "$keys/$1"
    roll "$2"
}

forget_key() {
    sed -i '$d' "$keys/$1"
    roll "$2"
}

refresh_key() {
    run_service tokens keys generate --refresh-keys-file "$keys/next.keys" >>"$logs/keys.log"
    learn_key refresh.keys tokens "$(cat "$keys/next.keys")"
    use_key refresh.keys tokens
    # In an installation an idle lifetime; here the load's sessions are all there are.
    wait_until 60 every_session_was_refreshed "$(date +%s)" || fail "a session of the load was not refreshed"
    forget_key refresh.keys tokens
    settle
}

every_session_was_refreshed() {
    python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["oldest_refresh"] < float(sys.argv[2]))' \
        "$state/load/counts.json" "$1"
}

# The old pepper stays: who has not signed in since is still hashed under it.
pepper() {
    learn_key pepper.keys identity "2:$(openssl rand -base64 32)"
    use_key pepper.keys identity
    settle
}

sealing_key() {
    learn_key sealing.keys identity "2:$(openssl rand -base64 32)"
    use_key sealing.keys identity
    settle
}

# Callees accept the new credentials too, callers show them, callees forget the old ones.
credentials() {
    local pair caller callee setting old new
    declare -A fresh
    for pair in GATEWAY:TOKENS GATEWAY:IDENTITY GATEWAY:DEVICES IDENTITY:TOKENS IDENTITY:DEVICES DEVICES:TOKENS; do
        caller=${pair%:*} callee=${pair#*:}
        setting=${callee}_${caller}_CREDENTIALS
        old=$(sed -n "s/^$setting=//p" "$state/${callee,,}.env")
        new=$(openssl rand -hex 24)
        fresh[$pair]=$new
        credential "$caller" "$callee" "$old,$new" callee
    done
    roll tokens devices identity
    for pair in "${!fresh[@]}"; do credential "${pair%:*}" "${pair#*:}" "${fresh[$pair]}" caller; done
    roll devices gateway identity
    for pair in "${!fresh[@]}"; do credential "${pair%:*}" "${pair#*:}" "${fresh[$pair]}" callee; done
    roll tokens devices identity
    settle
}

# A role has one password, so a second role takes turns with the first: what it does, it does as the first.
database_passwords() {
    local name password
    for name in identity tokens devices; do
        password=$(openssl rand -hex 16)
        SERVICE_PASSWORD=$password superuser "$primary" -v name="$name" -v login="${name}_2" \
            -f "$root/deploy/postgres/second-login.sql"
        set_in "$name" "$(upper "$name")_DATABASE_URL" "$(database_address "$name" "${name}_2" "$password")"
    done
    roll tokens devices identity
    for name in identity tokens devices; do superuser "$primary" -c "ALTER ROLE $name PASSWORD NULL"; done
    settle
}

# A new authority too: whoever verifies trusts both while servers and clients change over.
certificates() {
    new_authority next-authority
    cat "$tls/authority.pem" "$tls/next-authority.pem" >"$tls/authorities.pem.new"
    mv "$tls/authorities.pem.new" "$tls/authorities.pem"
    # PostgreSQL's clients read the file with each connection; those of Redis when they start.
    roll tokens gateway identity
    new_certificate gateway next-authority
    new_certificate postgres next-authority
    give_certificate 1
    give_certificate 2
    ask_postgres 1 "SELECT pg_reload_conf()" >/dev/null
    ask_postgres 2 "SELECT pg_reload_conf()" >/dev/null
    new_certificate redis next-authority
    ask_redis config set tls-cert-file "$tls/redis.pem" tls-key-file "$tls/redis.key"
    settle
    cp "$tls/next-authority.pem" "$tls/authorities.pem.new"
    mv "$tls/authorities.pem.new" "$tls/authorities.pem"
    # shellcheck disable=SC2086 # the names are words
    roll $in_order
    settle
}

# The primary stops cleanly, which sends the standby all that was committed; the standby becomes the primary; the old
# primary comes back as its standby.
switch_over() {
    local standby=$((3 - primary)) written replayed
    superuser "$primary" -c CHECKPOINT
    stop INT "postgres-$primary"
    # The shutdown's own record is the last that was written, and 120 bytes long at most.
    written=$("$(postgres_bin)/pg_controldata" -D "$(postgres_data "$primary")" |
        sed -n 's/^Latest checkpoint location: *//p')
    replayed=$(ask_postgres "$standby" "SELECT pg_last_wal_receive_lsn() > '$written'")
    [ "$replayed" = t ] || fail "the standby lacks what the primary wrote last ($written)"
    ask_postgres "$standby" "SELECT pg_promote(true, 60)" >/dev/null
    settle
    follow "$primary" "$standby"
    primary=$standby
    settle
}
