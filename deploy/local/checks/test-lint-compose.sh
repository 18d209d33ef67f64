#!/usr/bin/env bash
# Tries the rules of lint-compose.sh: on a copy of the tree each mistake is refused, with what it says of it.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-lint-compose
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"
# shellcheck source=refusals.sh
. "$local_scripts/checks/refusals.sh"

tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT
mkdir -p "$tree/deploy"
cp -r "$root/Services" "$root/Shared" "$root/docker-compose.yml" "$tree"
for folder in compose kubernetes observability postgres; do cp -r "$root/deploy/$folder" "$tree/deploy"; done

check() { "$local_scripts/lint/lint-compose.sh" "$tree"; }
expect "docker-compose.yml as it is passes" check

file=docker-compose.yml
refuses "a word that Compose does not know" "restarts" $file 's/^    restart: unless-stopped/    restarts: always/'
refuses "a setting that no source knows" "TOKENS_CLIENT, which no source" $file 's/TOKENS_CLIENT_ID:/TOKENS_CLIENT:/'
refuses "a setting that was renamed in the source" "DEVICES_TOKENS_URL, which no source" \
    Services/devices/Sources/Configuration.swift 's/"tokensURL"/"tokensAddress"/'
refuses "a needed setting that is not given" "gateway is not given GATEWAY_ISSUER" $file '/GATEWAY_ISSUER/d'
refuses "a migration with other settings than its service" "devices-migrate is not given" $file \
    's/    environment: \*devices/    environment: {GATEHOUSE_ENVIRONMENT: production}/'
# shellcheck disable=SC2016 # for Compose to expand
refuses "Apple's key file without Apple's key" "a part of Apple's key" $file \
    's|\${IDENTITY_APPLE_KEY_ID:+\(.*\)}|\1|'
# shellcheck disable=SC2016
refuses "a variable that secrets.sh does not make" "does not make ORDERS_DATABASE_PASSWORD" $file \
    's/\${DEVICES_DATABASE_PASSWORD:?}/${ORDERS_DATABASE_PASSWORD:?}/'
refuses "a secret that the file does not use" "makes ORDERS_TOKENS_CREDENTIAL" deploy/compose/secrets.sh \
    's/INTROSPECTION_TOKENS;/INTROSPECTION_TOKENS ORDERS_TOKENS;/'
refuses "a port that is not the source's" "the source says" Services/identity/Sources/Application.swift \
    's/defaultPort = 8081/defaultPort = 8071/'
refuses "an address where nobody listens" "devices:8084, where nobody listens" $file 's/devices:8083/devices:8084/'
refuses "a service that is out of reach" "gateway calls devices, and shares no network" $file \
    's/networks: \[postgres, internal\]/networks: [postgres]/'
refuses "a database that the gateway could reach" "gateway shares a network with postgres" $file \
    's/networks: \[redis, internal, outside\]/networks: [postgres, redis, internal, outside]/'
refuses "a database with a way out" "the network postgres should not lead outside" $file \
    's/^  postgres: {internal: true}/  postgres: {}/'
refuses "the signing key given to the gateway" "the signing key belongs to tokens alone" $file \
    's|^    ports: .*:8080:8080"\]|&\n    volumes: ["tokens-keys:/keys:ro"]|'
refuses "keys that tokens may write" "may write the keys of tokens" $file 's|tokens-keys:/keys:ro|tokens-keys:/keys|'
refuses "the simulator shown to other machines" "not on this host's loopback address" $file \
    's/127.0.0.1:8084:8084/8084:8084/'
refuses "the gateway shown to other machines" "not on this host's loopback address" $file \
    's/PUBLISHED_ADDRESS:-127.0.0.1/PUBLISHED_ADDRESS:-0.0.0.0/'
refuses "a tag that is built twice" "is built by 2 services" $file \
    '0,/^    pull_policy: never/s//    build: {<<: *build, target: tokens}/'
refuses "an image that is pulled" "would pull gatehouse/tokens" $file '0,/^    pull_policy: never/{/^    pull_policy/d}'
refuses "a root that may be written" "may write its root" $file 's/read_only: true/read_only: false/'
refuses "capabilities" "has capabilities" $file 's/cap_drop: \[ALL\]/cap_drop: [NET_RAW]/'
refuses "logs without a limit" "grow without a limit" $file '/max-size/d'
refuses "another health check" "does not ask \`tokens health\`" $file 's/"tokens", "health"/"tokens", "--version"/'
refuses "hashing threads beyond the memory" "hashing threads do not fit" $file 's/THREADS:-1/THREADS:-16/'
refuses "an older version's images" "the source says" $file '0,/GATEHOUSE_VERSION:-0/s//GATEHOUSE_VERSION:-9/'
refuses "a file that is not there" "which is not there" $file \
    's|deploy/compose/databases.sh|deploy/compose/database.sh|'
refuses "a variable that the page does not tell of" "does not tell of IDENTITY_MEMORY_LIMIT" deploy/compose/README.md \
    '/IDENTITY_MEMORY_LIMIT/d'
