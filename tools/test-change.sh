#!/usr/bin/env bash
# Makes every change of docs/operations/upgrade.md and keys.md while an installation has users, and counts the requests
# that failed: two replicas of each service, PostgreSQL with a standby, TLS everywhere, and a steady load. Set
# GATEHOUSE_CHANGE_STEPS="signing_key pepper", GATEHOUSE_CHANGE_CLIENTS (30), GATEHOUSE_OLD=REVISION (the one before).
. "$(dirname "$0")/parts/own-system.sh"
for part in servers services steps; do
    . "$scripts/change/$part.sh"
done

export GATEHOUSE_ENVIRONMENT=production
steps=${GATEHOUSE_CHANGE_STEPS:-roll_tokens roll_devices roll_gateway roll_identity signing_key refresh_key pepper
    sealing_key push_token_key credentials database_passwords certificates switch_over}
clients=${GATEHOUSE_CHANGE_CLIENTS:-30}
access_lifetime=30

ensure_packages
ensure_tools haproxy
fetch_python_tools tools locust==2.47.0
build_system
build_old_version

# ---- An installation of the version before, where there is one.
tls=$state/tls
mkdir -p "$tls" "$keys"
# PostgreSQL's own user reads the certificates of its servers and of the authority, not the keys.
chmod 711 "$state" "$tls"
chmod 700 "$keys"
declare -A database_password
take_ports servers
postgres_port=(0 "$servers" $((servers + 1)))
redis_port=$((servers + 2))
hook_port=$((servers + 3))
balancer_port=$((servers + 4))
primary=1

new_authority authority
trust authority
for name in gateway postgres redis; do new_certificate "$name" authority; done
make_cluster "$(postgres_data 1)"
give_certificate 1
start_database 1
for name in identity tokens devices; do
    database_password[$name]=$(openssl rand -hex 16)
    SERVICE_PASSWORD=${database_password[$name]} superuser 1 -v name="$name" \
        -f "$root/deploy/postgres/service-database.sql" >/dev/null
done
start_standby 2 1
start_cache
new_binaries=$binaries
if [ -n "$old_binaries" ]; then binaries=$old_binaries; fi
(
    umask 077
    "$new_binaries/tokens" keys generate --signing-key-file "$keys/signing.pem" >/dev/null
    "$new_binaries/tokens" keys generate --refresh-keys-file "$keys/refresh.keys" >/dev/null
)
for name in pepper.keys sealing.keys push-tokens.keys push-token-hash.key; do write_key $name server_key 1; done
# The ports from 16 on are free (service_port).
apple_url=http://127.0.0.1:$((base + 16))
start apple env -i "PATH=$PATH" GATEHOUSE_ENVIRONMENT=development \
    APPLE_SIMULATOR_LISTEN_ADDRESS="${apple_url#http://}" \
    APPLE_SIMULATOR_ADMIN_LISTEN_ADDRESS="127.0.0.1:$((base + 17))" \
    APPLE_SIMULATOR_APNS_LISTEN_ADDRESS="127.0.0.1:$((base + 18))" "$new_binaries/apple-simulator" serve
write_settings
migrate_all
for name in $in_order; do
    for number in $replicas; do start_replica "$name-$number"; done
done
start_balancer "$balancer_port"
binaries=$new_binaries

# ---- The load, and one change after the other.
step() {
    # By renaming: the load reads the file at any moment.
    say "$1" >"$state/step.new"
    mv "$state/step.new" "$state/step"
    note "$1"
}

clients_are_there() { [ "$(ask_tokens 'SELECT count(*) FROM sessions WHERE rotated_at > created_at')" -ge "$clients" ]; }

failed=
say start >"$state/step"
# Three users are of other kinds (load.py).
LOAD_AUTHORITIES=$tls/authorities.pem LOAD_STEP=$state/step LOAD_HOOK_PORT=$hook_port LOAD_APPLE=$apple_url \
    "$tools/bin/locust" -f "$scripts/change/load.py" --host "https://localhost:$balancer_port" --headless --only-summary \
    --users $((clients + 3)) --spawn-rate 3 >"$logs/load.log" 2>&1 &
load=$!
trap 'kill "$load" 2>/dev/null || true; remove_own_system' EXIT
wait_until 120 clients_are_there || fail "the clients did not all sign in within 120 s"
step steady
settle 10
if [ -n "$old_binaries" ]; then
    step versions_side_by_side
    versions_side_by_side
fi
for name in $steps; do
    step "$name"
    "$name"
done
step at_the_end
settle 10
for name in $in_order; do
    say
    run_service "$name" doctor || fail "doctor has a complaint about $name"
done

say
kill "$load" || fail "the load has ended: $logs/load.log"
wait "$load" || failed=yes
sed -n '/^Type /,$p' "$logs/load.log"
[ -z "$failed" ] || fail "requests failed"
