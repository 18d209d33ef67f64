#!/usr/bin/env bash
# Runs the system as deploy/kubernetes/production says, each pod in a network namespace of its own, as if on that many
# hosts: settings, secrets, user and mounts from the manifests, firewalls from their NetworkPolicies. Then tries who
# reaches whom, takes the walk-through and those end-to-end tests that ask as a client does, and cuts, slows and heals
# links. Needs root; leaves nothing behind.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/../.." && pwd)/.local/test-network
export GATEHOUSE_LOCAL
for part in common processes packages build postgres kubernetes network; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done
# shellcheck source=checks/expectations.sh
. "$local_scripts/checks/expectations.sh"

[ "$(id -u)" = 0 ] || fail "network namespaces need root"
ensure_packages
command -v ip >/dev/null || install_packages iproute2
command -v nft >/dev/null || install_packages nftables
ensure_kubernetes_tools
build_release
note "Building the tests: several minutes the first time"
swift_build --build-tests --explicit-target-dependency-import-check error --package-path "$root" ||
    fail "the build failed"

remove() {
    [ -z "${slow_pid:-}" ] || kill "$slow_pid" 2>/dev/null || true
    stop TERM gateway identity devices tokens apple shop redis
    stop INT postgres
    remove_network
    if [ -z "${GATEHOUSE_KEEP:-}" ]; then rm -rf "$state"; fi
}

all_names="gateway identity devices tokens apple shop redis postgres"
if [ -d "$state" ]; then GATEHOUSE_KEEP='' remove; fi
lock_state
trap remove EXIT
trap 'exit 130' INT TERM HUP

# ---- What stands outside of the manifests: certificates, databases, secrets, Apple, a service of a team's own.

# certificate NAME HOST: signed by an authority of this run.
certificate() {
    openssl req -newkey rsa:2048 -nodes -keyout "$tls/$1.key" -subj "/CN=$2" -out "$tls/$1.csr" 2>/dev/null
    openssl x509 -req -in "$tls/$1.csr" -CA "$tls/authority.pem" -CAkey "$tls/authority.key" -CAcreateserial -days 1 \
        -extfile <(say "subjectAltName=DNS:$2") -out "$tls/$1.pem" 2>/dev/null
}

tls=$state/tls
mkdir -p "$tls"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tls/authority.key" -out "$tls/authority.pem" -days 1 \
    -subj "/CN=Authority of this run" 2>/dev/null
certificate postgresql db.example.com
certificate redis redis.example.com
certificate gateway auth.example.com

authorities=/etc/gatehouse/authorities
for name in identity tokens devices; do
    password=$(openssl rand -hex 16)
    printf -v "${name}_password" '%s' "$password"
    verified="sslmode=verify-full&sslrootcert=$authorities/postgresql.pem"
    export "$(upper "$name")_DATABASE_URL=postgres://$name:$password@db.example.com:5432/$name?$verified"
done
export REDIS_URL="rediss://redis.example.com:6379?sslrootcert=$authorities/redis.pem"

base64_of() { base64 <"$1" | tr -d '\n'; }

{
    "$kubectl" kustomize "$root/deploy/kubernetes/production"
    "$root/deploy/kubernetes/secrets.sh" production
    cat <<END
---
apiVersion: v1
kind: Secret
metadata: {name: gateway-tls, namespace: gatehouse}
data: {tls.crt: $(base64_of "$tls/gateway.pem"), tls.key: $(base64_of "$tls/gateway.key")}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: certificate-authorities, namespace: gatehouse}
data:
  postgresql.pem: |
$(sed 's/^/    /' "$tls/authority.pem")
  redis.pem: |
$(sed 's/^/    /' "$tls/authority.pem")
END
} >"$state/manifests.yaml"
# A team's own routes: what stands in base/gateway/routes.yaml is an empty list.
route='{name: orders, path: /orders, upstreams: ["http://orders.shop:9000"]}'
sed -i "s|^    routes: \[\]\$|    routes: [$route]|" "$state/manifests.yaml"
grep -q 'orders.shop' "$state/manifests.yaml" || fail "the manifests have no routes to add to"

"$kubernetes_tools/python" "$local_scripts/network/plan.py" "$state" <"$state/manifests.yaml"
mapfile -t host_names < <(ls "$hosts")
remove_network
make_network
step "${#host_names[@]} hosts, $(find "$hosts" -name rules.nft | wc -l) with firewalls made of NetworkPolicies"

make_cluster "$state/postgres"
install -m 600 -o postgres "$tls/postgresql.key" "$tls/postgresql.pem" "$state/postgres"
say "hostssl all all 0.0.0.0/0 scram-sha-256" >>"$state/postgres/pg_hba.conf"
forget_killed_postgres "$state/postgres"
choose_postgres_user "$state/postgres"
database_address=$(host_address postgresql)
start postgres ip netns exec "$(namespace postgresql)" "${as_postgres[@]}" "$(postgres_bin)/postgres" \
    -D "$state/postgres" -c listen_addresses="127.0.0.1,$database_address" -c unix_socket_directories= -c max_connections=200 \
    -c ssl=on -c ssl_cert_file=postgresql.pem -c ssl_key_file=postgresql.key
await postgres 30 in_host postgresql "$(postgres_bin)/pg_isready" -q -h 127.0.0.1
for name in identity tokens devices; do
    password=${name}_password
    SERVICE_PASSWORD=${!password} PGPASSWORD=$(cat "$state/postgres.password") in_host postgresql \
        psql -q -X -h 127.0.0.1 -U postgres -d postgres -v ON_ERROR_STOP=1 -v name="$name" \
        -f "$root/deploy/postgres/service-database.sql" >/dev/null
done
start redis ip netns exec "$(namespace redis)" redis-server --bind "$(host_address redis)" --port 0 --tls-port 6379 \
    --tls-cert-file "$tls/redis.pem" --tls-key-file "$tls/redis.key" --tls-auth-clients no --save "" --dir "$state"
# Apple speaks HTTP here, on the port that the policies open.
start apple ip netns exec "$(namespace apple)" env -i GATEHOUSE_ENVIRONMENT=development \
    APPLE_SIMULATOR_LISTEN_ADDRESS=0.0.0.0:443 APPLE_SIMULATOR_ADMIN_LISTEN_ADDRESS=127.0.0.1:8094 \
    "$binaries/apple-simulator" serve
await apple 30 in_host apple curl -fs -o /dev/null http://127.0.0.1:8094/readyz
mkdir -p "$state/shop/orders"
say '{"orders": []}' >"$state/shop/orders/7"
start shop ip netns exec "$(namespace shop)" python3 -m http.server -d "$state/shop" 9000

# ---- The roll-out, in the order of docs/operations/upgrade.md.

for name in tokens identity devices; do
    container "$name-migration"
    expect "the migration of $name" "${container[@]}"
done
for name in tokens devices gateway identity; do
    more_settings=()
    if [ "$name" = identity ]; then
        # The simulator in Apple's place; keys that have changed are fetched within 2 s instead of 30.
        more_settings=(IDENTITY_APPLE_KEYS_COOLDOWN=2 IDENTITY_APPLE_KEYS_URL=http://appleid.apple.com:443/auth/keys)
    fi
    container "$name"
    start "$name" "${container[@]}"
done
more_settings=()
ready() { in_host "$1" curl -fs -o /dev/null --max-time 2 "http://127.0.0.1:$2/readyz"; }
for name in tokens devices gateway identity; do
    case $name in gateway) port=8090 ;; identity) port=8091 ;; tokens) port=8092 ;; devices) port=8093 ;; esac
    await "$name" 60 ready "$name" "$port"
    step "$name is ready, as the manifests run it"
done

# ---- Who reaches whom.

probe() { in_host "$1" python3 "$local_scripts/network/probe.py" "$state/expected.json" "$1"; }

tried=0
reached=0
for name in "${host_names[@]}"; do
    read -r tries reaches wrong < <(probe "$name") || fail "the probe of $name failed"
    [ "$wrong" = 0 ] || fail "$name: $wrong of $tries connections are not as the policies say"
    tried=$((tried + tries))
    reached=$((reached + reaches))
done
step "$tried connections tried between pairs of hosts: $reached made, all others stopped, as the policies say"

# What is tried can fail.
in_host devices nft delete table inet policies
probe stranger >/dev/null 2>"$state/output"
grep -q "stranger reaches devices on port 8083" "$state/output" || fail "expected: a missing firewall is noticed"
in_host devices nft -f "$hosts/devices/rules.nft"
step "a firewall that is missing is noticed"

# ---- What a client sees.

# as_client COMMAND…: with the names and the authority of this run.
as_client() {
    # shellcheck disable=SC2016 # expanded in there
    in_host client bash -euc 'mount --bind "$0" /etc/hosts; exec "$@"' "$hosts/client/etc/hosts" \
        env CURL_CA_BUNDLE="$tls/authority.pem" GATEWAY_URL=https://auth.example.com:8080 \
        APPLE_SIMULATOR_URL=http://appleid.apple.com:443 "$@"
}

# Without the command gatehouse, which does not know the authority of this run, and without mail.
as_client bash -euo pipefail < <(sed -e "/^[$]GATEHOUSE /d" -e "/[$]MAIL_FOLDER/d" "$local_scripts/walkthrough.txt") >"$state/walkthrough" 2>&1 || {
    cat "$state/walkthrough" >&2
    fail "expected: the walk-through works"
}
[ "$(tail -n 1 "$state/walkthrough")" = 401 ] || fail "the access token still works after sign-out"
step "the walk-through works, from a client outside"

# The other suites kill processes, look into databases or logs, or start services with settings of their own.
# shellcheck disable=SC2016 # expanded in there
as_client env GATEHOUSE_TEST_GATEWAY_URL=https://auth.example.com:8080 \
    GATEHOUSE_TEST_APPLE_SIMULATOR_URL=http://appleid.apple.com:443 \
    bash -euc 'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt; exec "$@"' "$tls/authority.pem" \
    swift test --skip-build --disable-xctest --explicit-target-dependency-import-check error --package-path "$root" \
    --filter 'EndToEndTests\.SystemTests/(SignIn|Sessions|BadInput|StandardDoors)/' >"$state/end-to-end" 2>&1 || {
    cat "$state/end-to-end" >&2
    fail "expected: the end-to-end tests pass"
}
# Of tests that take arguments each case is said beforehand, and of no other.
passed=$(sed -n 's/.*Test run with \([0-9]*\) tests\{0,1\} .*passed.*/\1/p' "$state/end-to-end")
[ "${passed:-0}" -ge 8 ] || fail "expected: the end-to-end tests are found; ${passed:-none} passed"
step "$passed end-to-end tests pass, from a client outside"

# request METHOD PATH [BODY [FIELD…]]: sets `status` and `milliseconds`; the answer is in the state folder.
request() {
    local method=$1 path=$2 body=${3:-} field words=()
    shift $(($# < 3 ? $# : 3))
    for field in "$@"; do words+=(-H "$field"); done
    [ -z "$body" ] || words+=(-H 'Content-Type: application/json' -d "$body")
    read -r status milliseconds < <(as_client curl -sS --max-time 20 -X "$method" "https://auth.example.com:8080$path" \
        -o "$state/answer" -D "$state/fields" -w '%{http_code} %{time_total}\n' "${words[@]}" |
        awk '{ print $1, int($2 * 1000) }') || status=000
}

answer() { jq -r "$1" "$state/answer"; }

# The user of these tests.
keep_tokens() {
    [ "$status" = 200 ] || [ "$status" = 201 ] || return 0
    access=$(answer .accessToken)
    refresh=$(answer .refreshToken)
}
grace='{"identifier": "grace@example.com", "password": "a long enough sentence"}'
registering() {
    request POST /v1/auth/register "$grace"
    keep_tokens
}
signing_in() { request POST /v1/auth/login "$grace"; }
refreshing() {
    request POST /v1/auth/refresh "{\"refreshToken\": \"$refresh\"}"
    keep_tokens
}
asking_identity() { request GET /v1/auth/me "" "Authorization: Bearer $access"; }
asking_devices() { request GET /v1/devices "" "Authorization: Bearer $access"; }
asking_the_shop() { request GET /orders/7 "" "Authorization: Bearer $access"; }
signing_in_with_apple() {
    local signed
    signed=$(as_client curl -fsS http://appleid.apple.com:443/simulator/sign-in -H 'Content-Type: application/json' \
        -d '{"email": "ada@example.com"}') || fail "Apple's simulator does not answer the client"
    request POST /v1/auth/apple "$(jq -c '{identityToken}' <<<"$signed")"
}

# served WHAT…: each is answered as on a good day.
served() {
    local what
    for what in "$@"; do
        "$what"
        case $status in
        200 | 201) ;;
        *) fail "expected: $what is served; answered $status: $(cat "$state/answer")" ;;
        esac
        step "    served: ${what//_/ } ($milliseconds ms)"
    done
}

# unavailable SECONDS WHAT…: each is answered 503 UNAVAILABLE with Retry-After, within so long and a busy machine's half
# second.
unavailable() {
    local seconds=$1 what
    shift
    for what in "$@"; do
        "$what"
        { [ "$status" = 503 ] && [ "$(answer .code)" = UNAVAILABLE ] && grep -qi "^retry-after:" "$state/fields"; } ||
            fail "expected: $what is UNAVAILABLE; answered $status: $(cat "$state/answer")"
        [ "$milliseconds" -le $((seconds * 1000 + 500)) ] ||
            fail "expected: $what is answered within $seconds s, not after $milliseconds ms"
        step "    503: ${what//_/ } ($milliseconds ms)"
    done
}

# served_again SECONDS WHAT: as soon as the link is back.
served_again() {
    local seconds=$1 begun
    shift
    begun=$(date +%s%N)
    # shellcheck disable=SC2317,SC2329 # called by wait_until
    is_served() { "$1" && [ "$status" = 200 ]; }
    wait_until "$seconds" is_served "$1" || fail "expected: $1 is served within $seconds s; answered $status"
    step "    served again: ${1//_/ } ($((($(date +%s%N) - begun) / 1000000)) ms after the link came back)"
}

everything=(signing_in refreshing asking_identity asking_devices asking_the_shop signing_in_with_apple)
served registering "${everything[@]}"

links=("gateway tokens" "tokens postgresql" "tokens redis" "identity tokens" "identity apple")
for link in "${links[@]}"; do
    read -r one other <<<"$link"
    step "slow by 100 ms each way: $one – $other"
    slow 100 "$one" "$other"
    served "${everything[@]}"
    quick
done

step "cut: gateway – tokens"
cut gateway tokens
unavailable 2 refreshing
served asking_the_shop asking_identity asking_devices signing_in
heal gateway tokens
served_again 3 refreshing

step "cut: tokens – PostgreSQL"
cut tokens postgresql
unavailable 2 refreshing signing_in
served asking_the_shop asking_identity asking_devices
heal tokens postgresql
served_again 3 refreshing
served signing_in

step "cut: tokens – Redis"
cut tokens redis
served "${everything[@]}"
heal tokens redis

step "cut: identity – tokens"
cut identity tokens
unavailable 2 signing_in
served asking_the_shop asking_identity asking_devices refreshing
heal identity tokens
served_again 3 signing_in

step "cut: identity – Apple"
cut identity apple
served "${everything[@]}"
as_client curl -fsS -o /dev/null -X POST http://appleid.apple.com:443/simulator/rotate-keys
# Apple's keys are waited for a little longer than PostgreSQL and other services.
unavailable 3 signing_in_with_apple
served signing_in refreshing asking_identity
heal identity apple
served_again 10 signing_in_with_apple

for name in gateway identity tokens devices; do
    used=$(($(awk '/^VmRSS:/ { print $2 }' "/proc/$(pid_of "$name")/status") / 1024))
    requested=$(cat "$hosts/$name/memory")
    [ "$used" -le "$requested" ] || fail "$name uses $used MiB, and its deployment.yaml requests $requested"
    step "$name uses $used MiB of the $requested that it requests"
done

note "The manifests hold"
