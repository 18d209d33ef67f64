#!/usr/bin/env bash
# Restores GATEHOUSE_RESTORE_SESSIONS (1,000,000) by docs/operations/backup.md: no ended session revives, none forks.
. "$(dirname "$0")/parts/own-system.sh"
. "$scripts/parts/requests.sh"

export GATEHOUSE_PATIENCE_MS=5000
sessions=${GATEHOUSE_RESTORE_SESSIONS:-1000000}
copies=$state/postgres-copies
mkdir -p "$copies"
system_up

# ---- Clients
declare -A access refresh
every_refresh=()
every_access=()

# keep NAME: the tokens of the last answer are the client's. All that it ever had are remembered.
keep() {
    access[$1]=$(answer .accessToken)
    refresh[$1]=$(answer .refreshToken)
    every_access+=("${access[$1]}")
    every_refresh+=("${refresh[$1]}")
}

# enter STATUS ROUTE NAME: registers the user or signs in.
enter() {
    want "$1" POST "/v1/auth/$2" "{\"identifier\": \"$3@example.com\", \"password\": \"a long enough sentence\"}"
}

rotate() {
    want 200 POST /v1/auth/refresh "{\"refreshToken\": \"${refresh[$1]}\"}"
    keep "$1"
}

# ---- Before the backup
server=$(url gateway)
for name in quiet rotated gone everywhere; do
    enter 201 register "$name"
    keep "$name"
    rotate "$name"
done
note "Adding $sessions sessions"
psql -q -X "$(database_url tokens)" -v ON_ERROR_STOP=1 -v sessions="$sessions" -f "$scripts/restore-sessions.sql"

note "The backup of $sessions sessions"
time for name in identity tokens devices; do pg_dump -Fc -d "$(database_url "$name")" -f "$copies/$name.dump"; done
du -ch "$copies"/*.dump | tail -n 1
cp -p "$keys"/* "$copies/"

# ---- What happens after it is lost with the databases
rotate rotated
rotate rotated
rotate gone
want 204 POST /v1/auth/logout "{\"refreshToken\": \"${refresh[gone]}\"}"
want 204 POST /v1/auth/logout-all '{}' "${access[everywhere]}"
enter 201 register late
keep late
stop gateway identity devices tokens

note "The restoration"
time for name in identity tokens devices; do
    PGOPTIONS='-c client_min_messages=warning' psql -q -X "$(database_url "$name")" -c 'DROP SCHEMA public CASCADE' \
        -c 'CREATE SCHEMA public'
    pg_restore --exit-on-error --no-owner --jobs 2 -d "$(database_url "$name")" "$copies/$name.dump"
done

# The operator forgets the next steps: tokens starts, and refuses every request.
start_service tokens
server=$(url tokens)
wait_until 60 port_open "$(port tokens)" || fail "tokens does not start"
if service_ready tokens; then fail "tokens is ready"; fi
for token in "${every_refresh[@]}"; do
    want 503 POST /v1/auth/refresh "{\"refreshToken\": \"$token\"}"
done
stop tokens
note "A restored database is not used before \`tokens after-restore\`: ${#every_refresh[@]} refreshes, all 503"

choose_environment tokens
time "${environment[@]}" "$binaries/tokens" after-restore
psql -q -X "$(database_url devices)" -c 'TRUNCATE devices, push_token_owners'
rm "$keys"/access-token-*.pem
system_up

server=$(url gateway)
for token in "${every_refresh[@]}"; do
    want 401 POST /v1/auth/refresh "{\"refreshToken\": \"$token\"}"
    [ "$(answer .code)" = INVALID_REFRESH_TOKEN ] || fail "a refresh token is refused as $(answer .code)"
done
for token in "${every_access[@]}"; do want 401 GET /v1/auth/me '' "$token"; done
[ "$(psql -At -X "$(database_url tokens)" -c 'SELECT count(*) FROM sessions')" = 0 ] || fail "sessions are left"
note "${#every_refresh[@]} refresh and ${#every_access[@]} access tokens of before: all refused"

# Accounts are those of the backup.
enter 200 login quiet
keep quiet
rotate quiet
want 200 GET /v1/auth/me '' "${access[quiet]}"
enter 401 login late
