#!/usr/bin/env bash
# Runs docker-compose.yml with Podman and the images of `make images`: a development with the walk-through, restarts under
# load, a new signing key and a restored backup, then a production. Needs root, and leaves only the images.
. "$(dirname "$0")/parts/base-images.sh"
. "$scripts/parts/requests.sh"
. "$scripts/checks/expectations.sh"

project=$state/compose
log=$logs/compose.log
server=http://127.0.0.1:8080

# In the project's folder. Docker gives a read-only container no writable /tmp, Podman would.
compose() { (cd "$project" && "$tools/bin/podman-compose" --podman-run-args=--read-only-tmpfs=false "$@"); }
once() { compose run --rm --no-deps -T "$@" 2>>"$log"; }
inside() { podman exec -i "gatehouse_$1_1" "${@:2}"; }

# The logs of the containers stay beside those of this script.
remove() {
    local name
    {
        kill "$load"
        for name in $(podman ps --all --format '{{.Names}}'); do podman logs "$name" >"$logs/$name.log" 2>&1; done
        podman rm --force --all --time 0
        podman pod rm --force --all
        podman volume rm --force --all
        podman network prune --force
        rm -rf "$project"
    } >>"$log" 2>&1 || true
}

slowly() { "$@" || { sleep 1 && return 1; }; }

# healthy SERVICE…: podman-compose does not wait for health checks below Podman 4.6.
healthy() {
    local name
    for name in "$@"; do
        wait_until 120 slowly podman healthcheck run "gatehouse_${name}_1" >>"$log" 2>&1 || fail "$name is not healthy"
    done
}

# finished SERVICE…: each has ended by itself, with 0.
finished() {
    local name
    for name in "$@"; do [ "$(timeout 120 podman wait "gatehouse_${name}_1")" = 0 ] || return 1; done
}

start_containers() { compose up --detach --no-deps "$@" >>"$log" 2>&1 || fail "podman-compose failed: see $log"; }

# Once more after a failure: Podman's name server is not there for a moment while a container joins its network.
migrated() {
    local services=(tokens-migrate identity-migrate devices-migrate)
    start_containers "${services[@]}"
    finished "${services[@]}"
}

# up WHAT: in the order of docker-compose.yml. Without --no-deps podman-compose makes the containers require each other,
# and Podman 4.3 fails to start a container whose requirement has requirements of its own.
up() {
    local began=$SECONDS services=(identity tokens devices)
    start_containers postgres redis keys
    healthy postgres redis
    finished keys || fail "keys did not end with 0"
    wait_until 60 slowly migrated || fail "a migration does not end with 0: see $logs/gatehouse_*-migrate_1.log"
    if grep -qx COMPOSE_PROFILES=dev "$project/.env"; then services+=(apple-simulator); fi
    start_containers "${services[@]}"
    healthy "${services[@]}"
    # Last: Podman's name server loses queries while containers join, and a resolver asks again only after 5 s.
    start_containers gateway
    healthy gateway
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

# eventually WHAT STATUS METHOD PATH [BODY]: a gateway that started before the others may say for a moment that one is not
# there.
eventually() {
    # shellcheck disable=SC2317,SC2329 # called by wait_until
    is_answered() { request "${@:2}" && [ "$status" = "$1" ]; }
    wait_until 30 slowly is_answered "${@:2}" || fail "expected: $1; answered $status: $(cat "$state/answer")"
    step "$1"
}
grace='{"identifier": "grace@example.com", "password": "a long enough sentence"}'
# ---- Tools and images
ensure_tools podman runc /usr/lib/podman/netavark=netavark /usr/lib/podman/aardvark-dns=aardvark-dns iptables buildah \
    mmdebstrap curl jq openssl
fetch_python_tools tools podman-compose==1.6.0
# Before the lock, which images.sh takes as well. It makes the image keys last.
has_image "gatehouse/keys:$version" || "$scripts/images.sh"
lock_state
# crun fails where cgroups are in hybrid mode, and runc where a limit is above that of a machine which is a container itself.
# Podman takes CNI, which knows no names, where images came first; without systemd it has no timers for health checks.
cat >"$state/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:20000", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$state/networks"
END
export CONTAINERS_CONF=$state/containers.conf DISABLE_HC_SYSTEMD=true
: >"$log"
load=
remove
trap remove EXIT
trap 'exit 130' INT TERM HUP
need_port gateway 8080
need_port apple-simulator 8084
make_bases postgres:15-bookworm redis:7-bookworm
# The folder in which an operator calls `docker compose`: the tree's files, and settings of the installation's own.
mkdir -p "$project"
ln -s "$root/deploy" "$project/deploy"
cp "$root/docker-compose.yml" "$project"
# A busy machine is slow, which is not what is tried here.
for name in gateway identity tokens devices; do echo GATEHOUSE_PATIENCE_MS=20000 >"$project/$name.env"; done

note "A development"
"$root/deploy/compose/secrets.sh" development >"$project/.env"
up "A development"
# Without the command gatehouse, of which there is no image, mail, for which there is no folder, and pushes of a calling
# service, which would be in the network.
sed -e '/^[$]GATEHOUSE /d' -e '/[$]MAIL_FOLDER/d' -e '/[$]DEVICES_URL/d' -e '/apns-pushes/d' "$scripts/walkthrough.txt" |
    GATEWAY_URL=$server APPLE_SIMULATOR_URL=http://127.0.0.1:8084 bash -euo pipefail >"$project/said" 2>&1 || {
    cat "$project/said" >&2
    fail "expected: the walk-through works"
}
[ "$(tail -n 1 "$project/said")" = 401 ] || fail "the access token still works after sign-out"
step "the walk-through works on this machine, through the published ports"
expect "only the gateway and the simulator are published, for this machine alone" test \
    "$(podman port --all | sed 's/.*-> //' | sort | xargs)" = "127.0.0.1:8080 127.0.0.1:8084"
eventually "a user registers" 201 POST /v1/auth/register "$grace"

note "Each service restarts under load"
# A user refreshes the session and calls identity and devices, in turn. A line for each status. A refresh that fails is
# repeated with the same token.
keep_using() {
    local state=$project/load access refresh=$1
    mkdir "$state"
    while sleep 0.1; do
        request POST /v1/auth/refresh "{\"refreshToken\": \"$refresh\"}"
        echo "$status refresh"
        if [ "$status" = 200 ]; then
            access=$(answer .accessToken)
            refresh=$(answer .refreshToken)
        fi
        request GET /v1/auth/me "" "$access"
        echo "$status me"
        request GET /v1/devices "" "$access"
        echo "$status devices"
    done
}
keep_using "$(answer .refreshToken)" >"$project/statuses" &
load=$!

# The last fifteen requests since the restart were answered 200.
works_again() { [ "$(sed "1,${seen}d" "$project/statuses" | tail -n 15 | grep -c '^200 ')" = 15 ]; }
for name in redis postgres devices tokens identity apple-simulator gateway; do
    began=$SECONDS
    compose restart "$name" >>"$log" 2>&1 || fail "$name does not restart: see $log"
    seen=$(wc -l <"$project/statuses")
    healthy postgres redis identity tokens devices gateway
    wait_until 60 slowly works_again || fail "requests fail after the restart of $name: $(tail -n 3 "$project/statuses" | xargs)"
    step "$name restarted: every kind of request is answered again after $((SECONDS - began)) s"
done
kill "$load"
load=
# 000: no connection, while the gateway itself restarts.
expect "$(sort "$project/statuses" | uniq -c | xargs)" test -z "$(grep -vE '^(200|502|503|504|000) ' "$project/statuses")"

note "A signing key is replaced, as docs/operations/keys.md says"
# Docker enables the profile of a service that is named; podman-compose does not.
expect "signing-keys makes another key" compose --profile tools run --rm --no-deps -T signing-keys generate \
    --signing-key-file /keys/access-token-private.pem
published() {
    request GET /.well-known/jwks.json
    [ "$(answer '.keys | length')" = 2 ]
}
expect "tokens publishes it" wait_until 90 slowly published

note "An installation from copies, as docs/operations/backup.md says"
for name in identity tokens devices; do
    inside postgres pg_dump -U postgres -Fc "$name" >"$project/$name.dump" || fail "$name cannot be copied"
done
once --entrypoint tar keys -C /keys -cf - tokens identity devices >"$project/keys.tar" || fail "the keys cannot be copied"
down --volumes
once --entrypoint tar keys -C /keys -xf - <"$project/keys.tar" >>"$log" || fail "the keys cannot be brought back"
start_containers postgres
healthy postgres
for name in identity tokens devices; do
    inside postgres pg_restore -U postgres --exit-on-error -d "$name" <"$project/$name.dump" ||
        fail "$name cannot be brought back"
done
expect "the sessions of the copy end" wait_until 30 slowly once tokens after-restore
expect "the registrations go" inside postgres psql -U postgres -d devices -c 'TRUNCATE devices, push_token_owners'
expect "the old signing key goes" once --entrypoint rm keys /keys/tokens/access-token-private.pem
up "An installation from copies"
eventually "the user of the copy signs in" 200 POST /v1/auth/login "$grace"
down --volumes

note "A production"
"$root/deploy/compose/secrets.sh" production >"$project/.env"
refuse "a production whose address is missing does not start" compose config
sed -i 's|^TOKENS_ISSUER=$|&https://auth.example.com|; s|^TOKENS_CLIENT_ID=$|&com.example.app|
    s|^IDENTITY_APPLE_CLIENT_IDS=$|&com.example.app|; s|^IDENTITY_APPLE_TEAM_ID=$|&TEAM000000|
    s|^IDENTITY_APPLE_KEY_ID=$|&ABC123DEFG|' "$project/.env"
echo GATEWAY_PUBLISHED_ADDRESS=127.0.0.2 >>"$project/.env"
server=http://127.0.0.2:8080
refuse "a key of Apple's that is named and not there is missed" once keys
expect "and the log says how to bring it" grep -qF 'keys apple < AuthKey_ABC123DEFG.p8' "$log"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$project/AuthKey_ABC123DEFG.p8" 2>/dev/null
bring() { once keys apple <"$1"; }
refuse "what is no key is refused" bring "$project/keys.tar"
expect "Apple's key is brought" bring "$project/AuthKey_ABC123DEFG.p8"
up "A production"
expect "the gateway is published where the operator says, and there is no simulator" test \
    "$(podman port --all | sed 's/.*-> //')" = 127.0.0.2:8080
eventually "a user registers" 201 POST /v1/auth/register "$grace"
eventually "Apple's route is there" 401 POST /v1/auth/apple '{"identityToken": "x"}'
down --volumes
note "docker-compose.yml holds"
