#!/usr/bin/env bash
# Drops the packets between two processes, one pair after the other, and checks what a client gets. Needs root.
if [ "${1:-}" != inside ]; then
    . "$(dirname "$0")/parts/system.sh"
    [ "$(id -u)" = 0 ] || fail "a network namespace needs root"
    # The namespace has no network, so everything is installed and built before it.
    ensure_packages
    ensure_tools ip=iproute2 nft=nftables
    GATEHOUSE_RELEASE=1 build_system
    exec unshare --net "$root/tools/test-links.sh" inside
fi
. "$(dirname "$0")/parts/own-system.sh"
. "$scripts/parts/requests.sh"

# ---- The system, in which each link leads over 127.0.1.NUMBER.

declare -A links=([gateway-tokens]=1 [identity-tokens]=2 [tokens-postgres]=3 [tokens-redis]=4 [identity-apple]=5 [tokens-standby]=6)
ip link set lo up
nft -f - <<'END'
table ip links {
    chain nat { type nat hook output priority -100; ip daddr 127.0.1.0/24 dnat to 127.0.0.1; }
    chain cut { type filter hook output priority 0; }
}
END
drop() { nft add rule ip links cut ct original ip daddr "127.0.1.${links[$1]}" drop; }
heal() { nft flush chain ip links cut; }
over() { printf '127.0.1.%s:%s' "${links[$1]}" "$(port "$2")"; }

ensure_keys
mkdir -p "$state/web/orders"
say '{"orders": []}' >"$state/web/orders/7"
start orders python3 -m http.server --bind 127.0.0.1 --directory "$state/web" $((base + 17))
say "routes: [{name: orders, path: /orders, upstreams: ['http://127.0.0.1:$((base + 17))']}]" >"$state/routes.yaml"
export GATEWAY_ROUTES_FILE=$state/routes.yaml GATEHOUSE_RATE_LIMITS=off
GATEWAY_TOKENS_URL=http://$(over gateway-tokens tokens)
IDENTITY_TOKENS_URL=http://$(over identity-tokens tokens)
standby_port=$((base + 18))
servers=$(over tokens-postgres postgres),127.0.1.${links[tokens-standby]}:$standby_port
TOKENS_DATABASE_URL=postgres://tokens:$TOKENS_DATABASE_PASSWORD@$servers/tokens
TOKENS_REDIS_URL=redis://$(over tokens-redis redis)
IDENTITY_APPLE_KEYS_URL=http://$(over identity-apple apple-simulator)/auth/keys
# Keys that have changed are fetched within 2 s instead of 30.
export IDENTITY_APPLE_KEYS_COOLDOWN=2
export GATEWAY_TOKENS_URL IDENTITY_TOKENS_URL TOKENS_DATABASE_URL TOKENS_REDIS_URL IDENTITY_APPLE_KEYS_URL
system_up
server=$(url gateway)

# ---- What a client asks.

grace='{"identifier": "grace@example.com", "password": "a long enough sentence"}'
registering() { request POST /v1/auth/register "$grace"; }
signing_in() { request POST /v1/auth/login "$grace"; }
refreshing() {
    request POST /v1/auth/refresh "{\"refreshToken\": \"$refresh\"}"
    if [ "$status" = 200 ]; then refresh=$(answer .refreshToken); fi
}
asking_identity() { request GET /v1/auth/me "" "$access"; }
asking_devices() { request GET /v1/devices "" "$access"; }
asking_orders() { request GET /orders/7 "" "$access"; }
signing_in_with_apple() {
    local signed
    signed=$(curl -fsS "$(url apple-simulator)/simulator/sign-in" -H 'Content-Type: application/json' \
        -d '{"email": "ada@example.com"}') || fail "Apple's simulator does not answer"
    request POST /v1/auth/apple "$(jq -c '{identityToken}' <<<"$signed")"
}

# served WHAT…
served() {
    local what
    for what in "$@"; do
        "$what"
        case $status in 200 | 201) ;; *) fail "$what is answered $status: $(cat "$state/answer")" ;; esac
        say "    served: ${what//_/ } ($milliseconds ms)"
    done
}

# unavailable SECONDS WHAT…: each is answered 503 with Retry-After, within so long and a busy machine's second.
unavailable() {
    local seconds=$1 what
    for what in "${@:2}"; do
        "$what"
        { [ "$status" = 503 ] && [ "$(answer .code)" = UNAVAILABLE ] && grep -qi "^retry-after:" "$state/fields"; } ||
            fail "$what is answered $status, not UNAVAILABLE: $(cat "$state/answer")"
        [ "$milliseconds" -le $((seconds * 1000 + 1000)) ] || fail "$what is answered after $milliseconds ms, not $seconds s"
        say "    503: ${what//_/ } ($milliseconds ms)"
    done
}

# shellcheck disable=SC2317,SC2329 # called by wait_until
is_served() { "$1" && [ "$status" = 200 ]; }

# served_again SECONDS WHAT: as soon as the link is back.
served_again() {
    heal
    wait_until "$1" is_served "$2" || fail "$2 is answered $status for $1 s after the link came back"
    say "    served again: ${2//_/ }"
}

# ---- One link after the other.

everything=(signing_in refreshing asking_identity asking_devices asking_orders signing_in_with_apple)
served registering
access=$(answer .accessToken)
refresh=$(answer .refreshToken)
served "${everything[@]}"

note "Cut: gateway – tokens"
drop gateway-tokens
unavailable 2 refreshing
served asking_orders asking_identity asking_devices signing_in
served_again 5 refreshing

note "Cut: tokens – PostgreSQL"
drop tokens-postgres
unavailable 2 refreshing signing_in
served asking_orders asking_identity asking_devices
served_again 5 refreshing
served signing_in

note "Cut: tokens – Redis"
drop tokens-redis
served "${everything[@]}"
heal

note "Cut: identity – tokens"
drop identity-tokens
unavailable 2 signing_in
served asking_orders asking_identity asking_devices refreshing
served_again 5 signing_in

note "Cut: identity – Apple"
drop identity-apple
served "${everything[@]}"
curl -fsS -o /dev/null -X POST "$(url apple-simulator)/simulator/rotate-keys"
# Apple's keys are waited for a little longer than PostgreSQL and other services.
unavailable 3 signing_in_with_apple
served signing_in refreshing asking_identity
served_again 15 signing_in_with_apple

# superuser PORT QUERY
superuser() { psql -X -At -h 127.0.0.1 -p "$1" -U postgres -d postgres -c "$2"; }
follows() {
    [ "$(superuser "$(port postgres)" \
        "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()")" = 1 ]
}

note "Cut: tokens – PostgreSQL for good, and its standby is promoted"
PGPASSWORD=$(cat "$state/postgres.password")
export PGPASSWORD
data=$state/postgres-standby
copy_cluster "$data" "postgres://postgres@127.0.0.1:$(port postgres)/postgres"
start_postgres postgres-standby "$data" "$standby_port" -c max_connections=200
wait_until 30 follows || fail "the standby does not follow"
drop tokens-postgres
unavailable 2 refreshing
superuser "$standby_port" "SELECT pg_promote()" >/dev/null
wait_until 5 is_served refreshing || fail "refreshing is answered $status for 5 s after the promotion"
say "    served by the standby: refreshing"
served signing_in asking_identity asking_devices
