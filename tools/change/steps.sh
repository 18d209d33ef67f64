# The changes of docs/operations/upgrade.md and keys.md, a function each. The load goes on meanwhile. Needs services.sh.

# The order of docs/operations/upgrade.md.
in_order="tokens devices gateway identity"

# settle [SECONDS]: for as long as it takes the load to meet what has changed.
settle() { sleep "${1:-8}"; }

# Sets `old_binaries` to those of GATEHOUSE_OLD, a revision, or of the last release, or of the parent commit where no
# release has this version's schema; empty where the parent has another one, too.
build_old_version() {
    local revision tree=$root/.local/old-version
    old_binaries=
    for revision in ${GATEHOUSE_OLD:-"$(git -C "$root" describe --tags --match 'v*' --abbrev=0 2>/dev/null)" "HEAD^"} ""; do
        # `migrate up` refuses databases from before the schema began with this step.
        if [ -n "$revision" ] &&
            git -C "$root" cat-file -e "$revision:Services/identity/Sources/Migrations/0001_schema.up.sql" 2>/dev/null; then
            break
        fi
    done
    if [ -z "$revision" ]; then
        [ -z "${GATEHOUSE_OLD:-}" ] || fail "$GATEHOUSE_OLD is no revision with this version's schema"
        note "No earlier version has this schema: the step with two versions is left out"
        return
    fi
    note "Building $revision: as long as a first build takes"
    git -C "$root" worktree prune
    [ -d "$tree" ] || git -C "$root" worktree add -q --detach "$tree"
    git -C "$tree" checkout -q --detach "$(git -C "$root" rev-parse "$revision^{commit}")"
    (cd "$tree" && swift build -c release >&2) || fail "the build of $revision failed"
    old_binaries=$(cd "$tree" && swift build -c release --show-bin-path)
}

# restart_first NAME…: of each the first replica, by the binaries that `binaries` names.
restart_first() {
    local name
    for name in "$@"; do
        stop "$name-1"
        start_replica "$name-1"
    done
}

# Replicas of the last version and of this one, at the same time, on this version's schema; forth, back and forth again.
versions_side_by_side() {
    local new=$binaries
    migrate_all
    settle
    # shellcheck disable=SC2086 # the names are words
    restart_first $in_order
    settle 20
    # The way back: no migration is undone, and functions stay those of the new version.
    binaries=$old_binaries
    migrate_all
    restart_first identity gateway devices tokens
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

# start_using_key FILE SERVICE NEW-LINE: every replica knows the new key, and then uses it.
start_using_key() {
    printf '%s\n' "$3" >>"$keys/$1"
    roll "$2"
    sed -n '$p' "$keys/$1" >"$keys/$1.new"
    sed '$d' "$keys/$1" >>"$keys/$1.new"
    chmod 600 "$keys/$1.new"
    mv "$keys/$1.new" "$keys/$1"
    roll "$2"
}

refresh_key() {
    run_service tokens keys generate --refresh-keys-file "$keys/next.keys" >>"$logs/keys.log"
    start_using_key refresh.keys tokens "$(cat "$keys/next.keys")"
    # In an installation an idle lifetime; here the load's sessions are all there are.
    wait_until 120 has_no_session_of_before "$(date +%s)" || fail "a session of the load was not refreshed"
    sed -i '$d' "$keys/refresh.keys"
    roll tokens
    settle
}

# ask_tokens QUERY: the database of tokens.
ask_tokens() { superuser "$primary" -At -c '\connect tokens' -c "$1"; }

# Of the sessions that are refreshed at all.
has_no_session_of_before() {
    [ "$(ask_tokens "SELECT count(*) FROM sessions WHERE rotated_at > created_at AND rotated_at < to_timestamp($1)")" = 0 ]
}

# The old keys stay: passwords of users who have not signed in since are still hashed under the old pepper.
add_key() {
    start_using_key "$1" "$2" "2:$(openssl rand -base64 32)"
    settle
}

pepper() { add_key pepper.keys identity; }
sealing_key() { add_key sealing.keys identity; }
push_token_key() { add_key push-tokens.keys devices; }

# Callees accept the new credentials too, callers show them, callees forget the old ones.
credentials() {
    local pair old
    declare -A new
    for pair in $pairs; do
        old=$(sed -n "s/^$(upper "${pair/:/_}")_CREDENTIAL=//p" "$state/${pair%:*}.env")
        new[$pair]=$(openssl rand -hex 24)
        accept_credentials "$pair" "$old,${new[$pair]}"
    done
    roll tokens devices identity
    for pair in $pairs; do show_credential "$pair" "${new[$pair]}"; done
    roll devices gateway identity
    for pair in $pairs; do accept_credentials "$pair" "${new[$pair]}"; done
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

# A new authority too: clients trust both while servers change over.
certificates() {
    new_authority next-authority
    trust authority next-authority
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
    trust next-authority
    # shellcheck disable=SC2086 # the names are words
    roll $in_order
    settle
}

# The primary stops cleanly, so the standby has all that was committed. The two change places.
switch_over() {
    local standby=$((3 - primary)) written replayed
    superuser "$primary" -c CHECKPOINT
    stop "postgres-$primary"
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
