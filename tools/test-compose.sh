#!/usr/bin/env bash
# Runs docker-compose.yml with Podman and podman-compose: starts a development, runs the walk-through against it, tries
# which service reaches which, restarts each service under load, replaces a signing key, restores a backup, and starts a
# production. The images of Gatehouse are those of `make images`; PostgreSQL and Redis are stand-ins made of Debian's
# packages (compose/Dockerfile). Needs root on Linux, and leaves only the images.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/.." && pwd)/.local/images
export GATEHOUSE_LOCAL
for part in common processes packages base-images; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done
# shellcheck source=checks/expectations.sh
. "$scripts/checks/expectations.sh"

podman_compose_version=1.6.0
tools=$root/.local/tools/podman-compose-$podman_compose_version
project=$state/compose
log=$logs/compose.log
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
gateway=http://127.0.0.1:8080

# As `docker compose` in the project's folder. Docker gives a read-only container no writable /tmp, Podman would.
compose() { (cd "$project" && "$tools/bin/podman-compose" --podman-run-args=--read-only-tmpfs=false "$@"); }
once() { compose run --rm --no-deps -T "$@" 2>>"$log"; }
inside() { podman exec -i "gatehouse_$1_1" "${@:2}"; }

# The logs of the containers stay beside those of this script.
remove() {
    local name
    {
        for name in $(podman ps --all --format '{{.Names}}'); do podman logs "$name" >"$logs/$name.log" 2>&1; done
        podman rm --force --all --time 0
        podman pod rm --force --all
        podman volume rm --force --all
        podman network prune --force
        rm -rf "$project"
    } >>"$log" 2>&1 || true
}

stopped_with() {
    podman logs --tail 25 "gatehouse_$1_1" >&2
    fail "$1 $2"
}

slowly() { "$@" || { sleep 1 && return 1; }; }

# healthy SERVICE…: podman-compose does not wait for health checks below Podman 4.6.
healthy() {
    local name
    for name in "$@"; do
        wait_until 120 slowly podman healthcheck run "gatehouse_${name}_1" >>"$log" 2>&1 ||
            stopped_with "$name" "is not healthy"
    done
}

# finished SERVICE…: each has ended by itself, with 0.
finished() {
    local name
    for name in "$@"; do [ "$(timeout 120 podman wait "gatehouse_${name}_1")" = 0 ] || return 1; done
}

start() { compose up --detach --no-deps "$@" >>"$log" 2>&1 || fail "podman-compose failed: see $log"; }

migrations="tokens-migrate identity-migrate devices-migrate"
# Once more after a failure: Podman's name server is not there for a moment while a container joins its network.
migrated() {
    # shellcheck disable=SC2086 # one word a service
    start $migrations && finished $migrations
}

# up WHAT: in the order of docker-compose.yml. Without --no-deps podman-compose makes the containers require each other,
# and Podman 4.3 fails to start a container whose requirement has requirements of its own.
up() {
    local began=$SECONDS services="identity tokens devices gateway"
    start postgres redis keys
    healthy postgres redis
    finished keys || stopped_with keys "did not end with 0"
    wait_until 60 slowly migrated || fail "a migration does not end with 0: see $logs/gatehouse_*-migrate_1.log"
    if grep -qx COMPOSE_PROFILES=dev "$project/.env"; then services+=" apple-simulator"; fi
    # shellcheck disable=SC2086 # one word a service
    start $services && healthy $services
    step "$1: everything is up after $((SECONDS - began)) s"
}

# down [--volumes]
down() {
    compose stop >>"$log" 2>&1
    expect "each service ends by itself within its time" test -z \
        "$(podman ps --all --format '{{.Names}} {{.ExitCode}}' | grep -v ' 0$')"
    compose down "$@" >>"$log" 2>&1 || fail "podman-compose down failed: see $log"
    expect "no container is left" test -z "$(podman ps --all --quiet)"
}

# request METHOD PATH [BODY]: sets `status`; the answer is in $project/answer.
request() {
    local words=()
    if [ -n "${3:-}" ]; then words=(-H 'Content-Type: application/json' -d "$3"); fi
    status=$(curl -sS --max-time 20 -X "$1" -o "$project/answer" -w '%{http_code}' "${words[@]}" "$gateway$2") ||
        fail "$1 $2 is not answered"
}
grace='{"identifier": "grace@example.com", "password": "a long enough sentence"}'
# A gateway that started before identity may say for a moment that it is not there.
entered() {
    request POST "/v1/auth/$1" "$grace"
    [ "$status" != 503 ]
}
enter() {
    wait_until 30 slowly entered "$1" || true
    [ "$status" = "$2" ] || fail "expected: $3; answered $status: $(cat "$project/answer")"
    step "$3"
}
claims() { jq -r '.accessToken | split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d' "$project/answer"; }
# said TEXT: the last command that wrote to this file has printed it.
said() { expect "and it is said: $1" grep -qF "$1" "$project/said"; }

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then fail "this needs root on Linux: sudo make test-compose"; fi
ensure_tools podman runc /usr/lib/podman/netavark=netavark /usr/lib/podman/aardvark-dns=aardvark-dns iptables buildah \
    debootstrap curl jq openssl
fetch_python_tools "$tools" "podman-compose==$podman_compose_version"
# Before the lock, which images.sh takes as well.
for program in gateway identity tokens devices apple-simulator keys; do
    has_image "gatehouse/$program:$version" && continue
    "$scripts/images.sh"
    break
done
lock_state
configure_podman
: >"$log"
remove
trap remove EXIT
trap 'exit 130' INT TERM HUP
need_port gateway 8080
need_port apple-simulator 8084
make_debian_base
make_server_bases

# The folder in which an operator calls `docker compose`: the tree's files, and settings of the installation's own.
mkdir -p "$project"
ln -s "$root/deploy" "$project/deploy"
cp "$root/docker-compose.yml" "$project"
# A busy machine is slow, which is not what is tried here.
for name in gateway identity tokens devices; do echo GATEHOUSE_PATIENCE_MS=20000 >"$project/$name.env"; done
printf '%s\n' 'TOKENS_ACCESS_TOKEN_LIFETIME=1200' TOKENS_ISSUER=http://other.localhost >>"$project/tokens.env"

note "A development"
"$root/deploy/compose/secrets.sh" development >"$project/.env"
up "A development"
# Without the command gatehouse, of which there is no image, and without mail, for which there is no folder.
sed -e "/^[$]GATEHOUSE /d" -e "/[$]MAIL_FOLDER/d" "$scripts/walkthrough.txt" |
    GATEWAY_URL=$gateway APPLE_SIMULATOR_URL=http://127.0.0.1:8084 bash -euo pipefail >"$project/said" 2>&1 || {
    cat "$project/said" >&2
    fail "expected: the walk-through works"
}
[ "$(tail -n 1 "$project/said")" = 401 ] || fail "the access token still works after sign-out"
step "the walk-through works on this machine, through the published ports"
enter register 201 "a user registers"
expect "a setting of tokens.env counts" test "$(jq .expiresIn "$project/answer")" -le 1200
expect "what docker-compose.yml sets wins" test "$(claims | jq -r .iss)" = http://gatehouse.localhost
cp "$project/answer" "$project/session"

note "Which service reaches which"
connects() { inside "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/$3" 2>/dev/null; }
addresses() { podman inspect --format '{{range .NetworkSettings.Networks}}{{println .IPAddress}}{{end}}' "gatehouse_$1_1" | xargs; }
while read -r caller callee port; do
    connects "$caller" "$callee" "$port" || fail "expected: $caller reaches $callee"
done <<'END'
gateway redis 6379
identity redis 6379
tokens redis 6379
identity postgres 5432
tokens postgres 5432
devices postgres 5432
gateway identity 8081
gateway tokens 8082
gateway devices 8083
identity tokens 8082
identity devices 8083
devices tokens 8082
identity apple-simulator 8084
END
step "each service reaches those that it calls"
while read -r caller callee port; do
    for address in $callee $(addresses "$callee"); do
        if connects "$caller" "$address" "$port"; then fail "expected: $caller does not reach $callee at $address"; fi
    done
done <<'END'
apple-simulator postgres 5432
apple-simulator redis 6379
apple-simulator tokens 8082
apple-simulator devices 8083
gateway postgres 5432
devices redis 6379
END
step "and none of the others, by name or address"
expect "only the gateway and the simulator are published, for this machine alone" test \
    "$(podman port --all | sed 's/.*-> //' | sort | xargs)" = "127.0.0.1:8080 127.0.0.1:8084"

note "What the containers may do, and what the volumes hold"
rights() { inside "$1" sh -c "awk '/^(Uid|CapBnd|NoNewPrivs):/ { print \$2 }' /proc/1/status" | xargs; }
for name in gateway identity tokens devices apple-simulator; do
    expect "$name runs as 10001, without capabilities" test "$(rights "$name")" = "10001 0000000000000000 1"
    refuse "$name cannot write its root" inside "$name" touch /written
    refuse "$name cannot write /tmp" inside "$name" touch /tmp/written
done
refuse "tokens cannot write its keys" inside tokens touch /keys/written
kept() { once --entrypoint sh keys -c "cd /keys/$1 && stat -c '%n %u %a' -- *" | tr -d '\r' | xargs; }
expect "the keys of tokens lie in their volume" test "$(kept tokens)" = \
    "access-token-private.pem 10001 600 refresh.keys 10001 600"
expect "the keys of identity lie in theirs" test "$(kept identity)" = \
    "apple-client-secret.p8 10001 600 pepper.keys 10001 600 sealing.keys 10001 600"
as_devices() { inside postgres psql "postgres://devices:$(sed -n 's/^DEVICES_DATABASE_PASSWORD=//p' "$project/.env")@127.0.0.1/$1" -c 'SELECT 1'; }
expect "devices enters its own database" as_devices devices
refuse "and no other" as_devices tokens

note "Each service restarts under load"
# One user calls identity and devices ten times a second each, and refreshes a session. A refresh that fails is repeated
# with the same token.
bearer="Authorization: Bearer $(jq -r .accessToken "$project/session")"
ask() { exec stdbuf -oL curl -s --rate 10/s --max-time 20 -o /dev/null -w '%{http_code}\n' -H "$bearer" "$gateway$1?[1-100000]"; }
refresh() {
    local token
    token=$(jq -r .refreshToken "$project/session")
    while [ -d "$project" ]; do
        status=$(curl -s --max-time 20 -o "$project/refreshed" -w '%{http_code}' -H 'Content-Type: application/json' \
            -d "{\"refreshToken\": \"$token\"}" "$gateway/v1/auth/refresh") || true
        echo "$status"
        if [ "$status" = 200 ]; then token=$(jq -r .refreshToken "$project/refreshed"); fi
        sleep 0.2
    done
}
end_load() {
    kill "${load[@]}" 2>/dev/null || true
    wait "${load[@]}" 2>/dev/null || true
}
trap 'end_load; remove' EXIT
ask /v1/auth/me >"$project/me.statuses" &
load=($!)
ask /v1/devices >"$project/devices.statuses" &
load+=($!)
refresh >"$project/refresh.statuses" &
load+=($!)

# The last five requests of each kind since the restart were answered 200.
works_again() {
    local kind
    for kind in me devices refresh; do
        sed "1,${seen[$kind]}d" "$project/$kind.statuses" | tail -n 5 | grep -c '^200$' | grep -qx 5 || return 1
    done
}
declare -A seen
for name in redis postgres devices tokens identity apple-simulator gateway; do
    began=$SECONDS
    compose restart "$name" >>"$log" 2>&1 || fail "$name does not restart: see $log"
    for kind in me devices refresh; do seen[$kind]=$(wc -l <"$project/$kind.statuses"); done
    healthy postgres redis identity tokens devices gateway
    wait_until 60 slowly works_again || fail "requests fail after the restart of $name: $(tail -qn 1 "$project"/*.statuses | xargs)"
    step "$name restarted: every kind of request is answered again after $((SECONDS - began)) s"
done
# Its process is killed from outside of the container.
killed=$(podman inspect --format '{{.State.Pid}}' gatehouse_tokens_1)
kill -KILL "$killed"
revived() { ! podman inspect --format '{{.State.Pid}}' gatehouse_tokens_1 | grep -qxE "0|$killed"; }
expect "a service that is killed is started again" wait_until 30 slowly revived
healthy tokens gateway
end_load
trap remove EXIT
for kind in me devices refresh; do
    answers=$(sort "$project/$kind.statuses" | uniq -c | xargs)
    # 000: no connection, while the gateway itself restarts.
    expect "$kind: $answers" test -z "$(grep -vxE '200|502|503|504|000' "$project/$kind.statuses")"
done

note "A signing key is replaced, as docs/operations/keys.md says"
# Docker enables the profile of a service that is named; podman-compose does not.
signing_keys() { compose --profile tools run --rm --no-deps -T signing-keys "$@" 2>>"$log"; }
expect "signing-keys makes another key" signing_keys generate --signing-key-file /keys/access-token-private.pem
expect "which is listed" test "$(signing_keys list | wc -l)" = 2
published() {
    request GET /.well-known/jwks.json
    [ "$(jq '.keys | length' "$project/answer")" = 2 ]
}
expect "tokens publishes it" wait_until 90 slowly published

note "An installation from copies, as docs/operations/backup.md says"
for name in identity tokens devices; do
    inside postgres pg_dump -U postgres -Fc "$name" >"$project/$name.dump" || fail "$name cannot be copied"
done
once --entrypoint tar keys -C /keys -cf - tokens identity >"$project/keys.tar" || fail "the keys cannot be copied"
down --volumes
once --entrypoint tar keys -C /keys -xf - <"$project/keys.tar" >>"$log" || fail "the keys cannot be brought back"
start postgres
healthy postgres
for name in identity tokens devices; do
    inside postgres pg_restore -U postgres --exit-on-error -d "$name" <"$project/$name.dump" ||
        fail "$name cannot be brought back"
done
expect "the sessions of the copy end" wait_until 30 slowly once tokens after-restore
expect "the registrations go" inside postgres psql -U postgres -d devices -c 'TRUNCATE devices'
expect "the old signing key goes" once --entrypoint rm keys /keys/tokens/access-token-private.pem
up "An installation from copies"
enter login 200 "the user of the copy signs in"
down --volumes

note "A production"
"$root/deploy/compose/secrets.sh" production >"$project/.env"
refuse "a production whose address is missing does not start" compose config
sed -i 's|^TOKENS_ISSUER=$|&https://auth.example.com|; s|^TOKENS_CLIENT_ID=$|&com.example.app|' "$project/.env"
echo GATEWAY_PUBLISHED_ADDRESS=127.0.0.2 >>"$project/.env"
gateway=http://127.0.0.2:8080
up "A production without Apple"
expect "the gateway is published where the operator says, and there is no simulator" test \
    "$(podman port --all | sed 's/.*-> //')" = 127.0.0.2:8080
enter register 201 "a user registers"
expect "the issuer is the public address" test "$(claims | jq -r .iss)" = https://auth.example.com
request POST /v1/auth/apple '{"identityToken": "x"}'
expect "Apple's route is not there" test "$status" = 404
down
# Then the team's key at Apple is there.
sed -i 's|^IDENTITY_APPLE_CLIENT_IDS=$|&com.example.app|; s|^IDENTITY_APPLE_TEAM_ID=$|&TEAM000000|
    s|^IDENTITY_APPLE_KEY_ID=$|&ABC123DEFG|' "$project/.env"
make_keys() { compose run --rm --no-deps -T keys >"$project/said" 2>&1; }
refuse "a key that is named and not there is missed" make_keys
said "docker compose run --rm -T keys apple < AuthKey_ABC123DEFG.p8"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$project/AuthKey_ABC123DEFG.p8" 2>/dev/null
bring() { once keys apple <"$1"; }
refuse "what is no key is refused" bring "$project/keys.tar"
expect "Apple's key is brought" bring "$project/AuthKey_ABC123DEFG.p8"
up "A production with Apple"
enter login 200 "the user of before signs in"
request POST /v1/auth/apple '{"identityToken": "x"}'
expect "Apple's route is there" test "$status" = 401
down --volumes
note "docker-compose.yml holds"
