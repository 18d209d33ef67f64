#!/usr/bin/env bash
# Runs what docker-compose.yml says, without an engine: each service in the root of its image (make images), with its
# user, rights, mounts, settings and networks, in the order and with the health checks of the file. Then takes the
# walk-through through the published ports, tries who reaches whom, and whether keys, data and settings are where they
# belong; makes an installation from copies of another; and starts a production that knows nothing of Apple. Needs root
# on Linux; leaves nothing behind.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/../.." && pwd)/.local/images
export GATEHOUSE_LOCAL
for part in common processes packages base-images; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done
# shellcheck source=checks/expectations.sh
. "$local_scripts/checks/expectations.sh"

if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then fail "this needs root on Linux: sudo make test-compose"; fi
ensure_tools buildah curl jq openssl ip=iproute2
ensure_python_yaml

work=$state/compose
project=$work/project
version=$(sed -n 's/.*static let number = "\(.*\)"/\1/p' "$root/Shared/Settings/GatehouseVersion.swift")
programs="gateway identity tokens devices apple-simulator keys"

engine() { "$python" "$local_scripts/compose/engine.py" "$work" "$@"; }
in_namespace() { ip netns exec "gatehouse-compose-$1" "${@:2}"; }

remove() {
    if [ -f "$work/settings.json" ] && [ -f "$work/.env" ]; then engine down --volumes >/dev/null 2>&1 || true; fi
    if [ -z "${GATEHOUSE_KEEP:-}" ]; then rm -rf "$work"; fi
}

# Before the lock, which images.sh takes as well.
for program in $programs; do
    has_image "gatehouse/$program:$version" && continue
    "$local_scripts/images.sh"
    break
done
lock_state
if [ -d "$work" ]; then GATEHOUSE_KEEP='' remove; fi
trap remove EXIT
trap 'exit 130' INT TERM HUP
make_debian_base
make_postgres_base
make_redis_base

# The folder in which somebody calls `docker compose`: the tree's files, and settings of one's own.
mkdir -p "$project"
ln -s "$root/deploy" "$project/deploy"
cp "$root/docker-compose.yml" "$project"
# A busy machine is slow, which is not what is tried here.
for name in gateway identity tokens devices; do echo GATEHOUSE_PATIENCE_MS=20000 >"$project/$name.env"; done
jq -n --arg project "$project" --arg work "$work" --arg images "$state" '{
    file: "\($project)/docker-compose.yml", env: "\($work)/.env", folder: $project,
    buildah: ["buildah", "--root", "\($images)/storage", "--runroot", "\($images)/storage-run",
        "--storage-driver", "overlay"]
}' >"$work/settings.json"

# up WHAT [SERVICE…]
up() {
    local began=$SECONDS what=$1
    shift
    engine up "$@" || fail "expected: $what starts"
    step "$what: everything is up after $((SECONDS - began)) s"
}

down() {
    mapfile -t pids < <(cat "$work"/containers/*/pid)
    expect "each ends by itself within its time" engine down "$@"
    refuse "no namespace is left" grep -q gatehouse-compose- <(ip netns list)
    refuse "no mount is left" grep -q "$state/storage" /proc/mounts
    refuse "no process is left" processes_left
}

# Of the containers, and of what starts them and forwards to them.
processes_left() {
    local pid file
    for pid in "${pids[@]}"; do
        if [ -n "$(start_time "$pid")" ]; then return; fi
    done
    for file in /proc/[0-9]*/cmdline; do
        case $(tr '\0' ' ' <"$file" 2>/dev/null) in *"$local_scripts/compose/"*) return ;; esac
    done
    return 1
}

# ---- A development, by README.md.

note "A development"
"$root/deploy/compose/secrets.sh" development >"$work/.env"
# Wins over no more than what docker-compose.yml leaves open.
printf '%s\n' 'TOKENS_ACCESS_TOKEN_LIFETIME=120 # seconds' TOKENS_ISSUER=http://other.localhost >>"$project/tokens.env"
up "A development"

for path in /deploy/compose/keys.sh /deploy/local/parts/common.sh /deploy/local/parts/keys.sh; do
    expect "the image of keys has this tree's $(basename "$path")" cmp "$root$path" \
        <(engine run --entrypoint cat keys "/gatehouse$path")
done

# Without the command gatehouse, of which there is no image, and without mail, for which there is no folder.
in_namespace host env GATEWAY_URL=http://127.0.0.1:8080 APPLE_SIMULATOR_URL=http://127.0.0.1:8084 \
    bash -euo pipefail < <(sed -e "/^[$]GATEHOUSE /d" -e "/[$]MAIL_FOLDER/d" "$local_scripts/walkthrough.txt") >"$work/walkthrough" 2>&1 || {
    cat "$work/walkthrough" >&2
    fail "expected: the walk-through works"
}
[ "$(tail -n 1 "$work/walkthrough")" = 401 ] || fail "the access token still works after sign-out"
step "the walk-through works on this machine, through the published ports"

# request METHOD PATH [BODY]: sets `status`; the answer is in $work/answer.
request() {
    local words=()
    if [ -n "${3:-}" ]; then words=(-H 'Content-Type: application/json' -d "$3"); fi
    status=$(in_namespace host curl -sS --max-time 20 -X "$1" -o "$work/answer" -w '%{http_code}' "${words[@]}" \
        "http://127.0.0.1:8080$2") || fail "$1 $2 is not answered"
}
grace='{"identifier": "grace@example.com", "password": "a long enough sentence"}'
register() {
    request POST /v1/auth/register "$grace"
    [ "$status" = 201 ] || fail "expected: a user registers; answered $status: $(cat "$work/answer")"
    step "a user registers"
}
register
claims() { jq -r '.accessToken | split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d' "$work/answer"; }
# Access tokens of one lifetime do not all end at once: it is shortened by a little.
expect "a setting of tokens.env counts" test "$(jq .expiresIn "$work/answer")" -le 120
expect "what docker-compose.yml sets wins" test "$(claims | jq -r .iss)" = http://gatehouse.localhost

# ---- Who reaches whom.

address() { sed -n "s/ $2\$//p" "$work/containers/$1/hosts" | head -n 1; }
connects() { in_namespace "$1" timeout 2 bash -c "exec 3<>/dev/tcp/$2/$3" 2>/dev/null; }
tried=0
reaches() {
    connects "$1" "$(address "$1" "$2")" "$3" || fail "expected: $1 reaches $2"
    tried=$((tried + 1))
}
# By each address that anybody knows it under.
reaches_not() {
    local found
    [ -n "$(address "$2" "$2")" ] || fail "nothing is known of $2"
    while read -r found; do
        if connects "$1" "$found" "$3"; then fail "expected: $1 does not reach $2 at $found"; fi
        tried=$((tried + 1))
    done < <(sed -n "s/ $2\$//p" "$work/containers/$2/hosts")
}
for pair in "gateway redis 6379" "identity redis 6379" "tokens redis 6379" "identity postgres 5432" \
    "tokens postgres 5432" "devices postgres 5432" "gateway identity 8081" "gateway tokens 8082" \
    "gateway devices 8083" "identity tokens 8082" "identity devices 8083" "devices tokens 8082" \
    "identity apple-simulator 8084"; do
    read -ra words <<<"$pair"
    reaches "${words[@]}"
done
for outsider in world host apple-simulator; do
    for pair in "postgres 5432" "redis 6379" "tokens 8082" "tokens 8092" "devices 8083" "devices 8093"; do
        read -ra words <<<"$pair"
        reaches_not "$outsider" "${words[@]}"
    done
done
reaches_not gateway postgres 5432
reaches_not devices redis 6379
step "who calls whom reaches it, nobody outside reaches PostgreSQL, Redis or what lies behind: $tried connections tried"
expect "the simulator is there for this machine" connects host 127.0.0.1 8084
refuse "and for no other" connects world 203.0.113.1 8084
refuse "the gateway is for no other machine" connects world 203.0.113.1 8080

# ---- What the containers are, and what the volumes hold.

for name in gateway identity tokens devices apple-simulator; do
    pid=$(cat "$work/containers/$name/pid")
    expect "$name runs as 10001, without rights" \
        test "$(awk '/^(Uid|CapBnd|CapEff|NoNewPrivs):/ { print $2 }' "/proc/$pid/status" | xargs)" = \
        "10001 0000000000000000 0000000000000000 1"
    refuse "$name cannot write its root" engine exec "$name" touch /written
    refuse "$name cannot write /tmp" engine exec "$name" touch /tmp/written
done
kept() { (cd "$work/volumes/$1" && stat -c '%n %u %a' -- * | xargs); }
expect "the keys of tokens lie in their volume" test "$(kept tokens-keys)" = \
    "access-token-private.pem 10001 600 refresh.keys 10001 600"
expect "the keys of identity lie in theirs" test "$(kept identity-keys)" = \
    "apple-client-secret.p8 10001 600 pepper.keys 10001 600 sealing.keys 10001 600"
refuse "tokens cannot write its keys" engine exec tokens touch /keys/written
for name in identity devices gateway; do
    refuse "$name has no signing key" engine exec "$name" test -e /keys/access-token-private.pem
done
databases() { engine exec postgres psql -U postgres -Atc 'SELECT datname FROM pg_database WHERE NOT datistemplate'; }
expect "each service has a database" test "$(databases | sort | xargs)" = "devices identity postgres tokens"
role_of_devices() { engine exec postgres env PGPASSWORD="$(sed -n 's/^DEVICES_DATABASE_PASSWORD=//p' "$work/.env")" \
    psql -h 127.0.0.1 -U devices -c 'SELECT 1' "$1"; }
expect "devices enters its own" role_of_devices devices
refuse "and no other" role_of_devices tokens

most_megabytes() { sed -n "/^  $1:\$/,/^\$/s/.*mem_limit: [^0-9]*\([0-9]*\)m.*/\1/p" "$root/docker-compose.yml"; }
for name in gateway identity tokens devices; do
    used=$(($(awk '/^VmHWM:/ { print $2 }' "/proc/$(cat "$work/containers/$name/pid")/status") / 1024))
    limit=$(most_megabytes "$name")
    [ "$used" -le "$limit" ] || fail "$name has used $used MiB, and docker-compose.yml allows $limit"
    step "$name has used $used MiB at most, of $limit"
done

# ---- Signing keys, as docs/operations/keys.md replaces them.

signing_keys() { engine run signing-keys list | wc -l; }
expect "signing-keys lists the key" test "$(signing_keys)" = 1
expect "signing-keys makes another" engine run signing-keys generate \
    --signing-key-file /keys/access-token-private.pem
expect "which is listed" test "$(signing_keys)" = 2
published() {
    request GET /.well-known/jwks.json
    [ "$(jq '.keys | length' "$work/answer")" = 2 ]
}
expect "tokens publishes it" wait_until 90 published

# ---- Copies of data and keys, as docs/operations/backup.md makes them, and an installation made of them.

for name in identity tokens devices; do
    engine exec postgres pg_dump -U postgres -Fc "$name" >"$work/$name.dump" || fail "$name cannot be copied"
done
engine run --entrypoint tar keys -C /keys -cf - tokens identity >"$work/keys.tar" || fail "the keys cannot be copied"
down
expect "Redis has written its file" test -s "$work/volumes/redis/dump.rdb"

sign_in() {
    request POST /v1/auth/login "$grace"
    [ "$status" = 200 ] || fail "expected: $1; answered $status: $(cat "$work/answer")"
    step "$1"
}
echo GATEWAY_PUBLISHED_ADDRESS=0.0.0.0 >>"$work/.env"
up "The same again, published on every address"
sign_in "the user is still there"
expect "the gateway is there for other machines" connects world 203.0.113.1 8080
refuse "the simulator is not" connects world 203.0.113.1 8084
down --volumes
sed -i /^GATEWAY_PUBLISHED_ADDRESS=/d "$work/.env"

engine run --entrypoint tar keys -C /keys -xf - <"$work/keys.tar" || fail "the keys cannot be brought back"
up "PostgreSQL alone" postgres
for name in identity tokens devices; do
    engine exec postgres pg_restore -U postgres --exit-on-error -d "$name" <"$work/$name.dump" ||
        fail "$name cannot be brought back"
done
expect "the sessions of the copy end" engine run tokens after-restore
expect "the registrations go" engine exec postgres psql -U postgres -d devices -c 'TRUNCATE devices'
expect "the old signing key goes" engine run --entrypoint rm keys /keys/tokens/access-token-private.pem
engine down
up "An installation from copies"
sign_in "the user of the copy is there"
down --volumes

# ---- A production that begins with passwords.

# said TEXT: by what was just refused.
said() {
    grep -qF "$1" "$state/output" || {
        cat "$state/output" >&2
        fail "expected: it is said: $1"
    }
    step "and it is said: $1"
}

note "A production without Apple"
"$root/deploy/compose/secrets.sh" production >"$work/.env"
refuse "a production whose address is missing does not start" engine up
said "TOKENS_ISSUER is missing a value: the public address"
sed -i 's|^TOKENS_ISSUER=$|&https://auth.example.com|; s|^TOKENS_CLIENT_ID=$|&com.example.app|' "$work/.env"
up "A production without Apple"
refuse "there is no simulator" test -e "$work/containers/apple-simulator"
register
expect "the issuer is the public address" test "$(claims | jq -r .iss)" = https://auth.example.com
request POST /v1/auth/apple '{"identityToken": "x"}'
expect "Apple's route is not there" test "$status" = 404
down

# Then the team's key at Apple is there.
sed -i 's|^IDENTITY_APPLE_CLIENT_IDS=$|&com.example.app|; s|^IDENTITY_APPLE_TEAM_ID=$|&TEAM000000|
    s|^IDENTITY_APPLE_KEY_ID=$|&ABC123DEFG|' "$work/.env"
refuse "a key that is named and not there is missed" engine up
said "docker compose run --rm -T keys apple < AuthKey_ABC123DEFG.p8"
engine down || true
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/AuthKey_ABC123DEFG.p8" 2>/dev/null
bring() { engine run keys apple <"$1"; }
refuse "what is no key is refused" bring "$work/keys.tar"
expect "Apple's key is brought" bring "$work/AuthKey_ABC123DEFG.p8"
up "A production with Apple"
sign_in "the user of before is still there"
request POST /v1/auth/apple '{"identityToken": "x"}'
expect "Apple's route is there" test "$status" = 401
down --volumes

note "docker-compose.yml holds"
