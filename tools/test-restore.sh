#!/usr/bin/env bash
# Backs an installation up and restores it as docs/operations/backup.md says, among GATEHOUSE_RESTORE_SESSIONS (1,000,000)
# sessions, and proves that no session that has ended since lives again and that none forks. Prints how long it takes.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/.." && pwd)/.local/test-restore
export GATEHOUSE_LOCAL
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
export GATEHOUSE_PATIENCE_MS=5000
sessions=${GATEHOUSE_RESTORE_SESSIONS:-1000000}
unset GATEHOUSE_RESTORE_SESSIONS
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"

remove() {
    system_down
    rm -rf "$state"
}

if [ -d "$state" ]; then remove; fi
mkdir -p "$state"
trap remove EXIT
trap 'exit 130' INT TERM HUP
base=$(free_port_base)
system_up
copies=$state/copies
mkdir -p "$copies"

# ---- Clients

password='a long enough sentence'
declare -A access refresh
every_refresh=()
every_access=()

# ask STATUS METHOD PATH BODY [BEARER]: sends a request, wants this status, prints the answer's body.
ask() {
    local bearer=()
    if [ -n "${5:-}" ]; then bearer=(-H "Authorization: Bearer $5"); fi
    local answer
    answer=$(curl -sS --max-time 30 -w '\n%{http_code}' -X "$2" "$server$3" -H 'Content-Type: application/json' \
        -d "$4" "${bearer[@]}")
    [ "${answer##*$'\n'}" = "$1" ] || fail "$2 $3: want $1, not ${answer##*$'\n'}: ${answer%$'\n'*}"
    printf '%s' "${answer%$'\n'*}"
}

# keep NAME ANSWER: the client's tokens; every one that was ever given is remembered.
keep() {
    access[$1]=$(jq -r .accessToken <<<"$2")
    refresh[$1]=$(jq -r .refreshToken <<<"$2")
    every_access+=("${access[$1]}")
    every_refresh+=("${refresh[$1]}")
}

register() {
    keep "$1" "$(ask 201 POST /v1/auth/register "{\"identifier\": \"$1@example.com\", \"password\": \"$password\"}")"
}

rotate() { keep "$1" "$(ask 200 POST /v1/auth/refresh "{\"refreshToken\": \"${refresh[$1]}\"}")"; }

# ---- Before the backup

server=$(url gateway)
for name in quiet rotated gone everywhere; do
    register "$name"
    rotate "$name"
done
note "Adding $sessions sessions"
psql -q -X "$(database_url tokens)" -v ON_ERROR_STOP=1 -v sessions="$sessions" <<'SQL'
SET statement_timeout = 0;
SET synchronous_commit = off;
INSERT INTO users (id, version, role, store_ids, email, profile)
SELECT md5('user ' || number)::uuid, 1, 'user', '{}', number || '@example.com', '{}'
FROM generate_series(1, :sessions / 4) AS number;
INSERT INTO sessions (
    id, user_id, credentials_version, current_hash, previous_hash, sealed_current, created_at, rotated_at, expires_at,
    absolute_expires_at, access_expires_at, device, ip_address)
SELECT md5('session ' || number)::uuid, md5('user ' || (number - 1) / 4 + 1)::uuid, 1, sha256(number::text::bytea),
    sha256(md5(number::text)::bytea), decode(repeat('00', 98), 'hex'), now(), now(), now() + interval '30 days',
    now() + interval '1 year', now() - interval '1 hour', '{"name": "iPhone", "model": "iPhone17,1"}', '192.0.2.1'
FROM generate_series(1, :sessions / 4 * 4) AS number;
SQL

# ---- The backup: databases and keys

began=$EPOCHREALTIME
seconds() { awk -v from="$began" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }'; }
for name in identity tokens devices; do pg_dump -Fc -d "$(database_url "$name")" -f "$copies/$name.dump"; done
backup_seconds=$(seconds)
cp -p "$keys"/* "$copies/"

# ---- What happens after it is lost with the databases

rotate rotated
rotate rotated
rotate gone
ask 204 POST /v1/auth/logout "{\"refreshToken\": \"${refresh[gone]}\"}"
ask 204 POST /v1/auth/logout-all '{}' "${access[everywhere]}"
register late

stop TERM gateway identity devices tokens
administer() { PGPASSWORD=$(cat "$state/postgres.password") psql -q -X -h 127.0.0.1 -p "$(port postgres)" -U postgres \
    -d postgres -v ON_ERROR_STOP=1 -c "$1"; }
for name in identity tokens devices; do administer "DROP DATABASE $name"; done

# ---- The restoration

began=$EPOCHREALTIME
for name in identity tokens devices; do
    make_database "$name"
    pg_restore --exit-on-error --no-owner --jobs 2 -d "$(database_url "$name")" "$copies/$name.dump"
done
restore_seconds=$(seconds)

# The operator forgets the next steps: tokens starts, and refuses every request.
start_service tokens
server=$(url tokens)
wait_until 60 port_open "$(port tokens)" || fail "tokens does not start"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$(admin_url tokens)/readyz")" = 503 ] || fail "tokens is ready"
for token in "${every_refresh[@]}"; do
    ask 503 POST /v1/auth/refresh "{\"refreshToken\": \"$token\"}" >/dev/null
done
stop TERM tokens
note "A restored database is not used before \`tokens after-restore\`: ${#every_refresh[@]} refreshes, all 503"

began=$EPOCHREALTIME
choose_environment tokens
"${environment[@]}" "$binaries/tokens" after-restore
after_seconds=$(seconds)
psql -q -X "$(database_url devices)" -c 'TRUNCATE devices'
mv "$keys/access-token-private.pem" "$copies/old-signing-key.pem"
"$binaries/tokens" keys generate --development --signing-key-file "$keys/access-token-private.pem" >/dev/null
for name in tokens devices identity gateway; do start_service "$name"; done
for name in tokens devices identity gateway; do await_service "$name"; done

server=$(url gateway)
for token in "${every_refresh[@]}"; do
    ask 401 POST /v1/auth/refresh "{\"refreshToken\": \"$token\"}" | grep -q INVALID_REFRESH_TOKEN ||
        fail "a refresh token is refused with another code"
done
for token in "${every_access[@]}"; do ask 401 GET /v1/auth/me '' "$token" >/dev/null; done
[ "$(psql -At -X "$(database_url tokens)" -c 'SELECT count(*) FROM sessions')" = 0 ] || fail "sessions are left"
# Accounts are those of the backup: who had one signs in again.
login() { ask "$1" POST /v1/auth/login "{\"identifier\": \"$2@example.com\", \"password\": \"$password\"}"; }
keep quiet "$(login 200 quiet)"
rotate quiet
ask 200 GET /v1/auth/me '' "${access[quiet]}" >/dev/null
login 401 late >/dev/null

say
note "$((${#every_refresh[@]} - 2)) refresh and $((${#every_access[@]} - 2)) access tokens of before: all refused, before and after"
note "Backup of $sessions sessions: $backup_seconds s, $(du -ch "$copies"/*.dump | tail -n 1 | cut -f 1)"
note "Restore: $restore_seconds s, \`tokens after-restore\`: $after_seconds s"
