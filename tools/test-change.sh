#!/usr/bin/env bash
# Makes every change of docs/operations/upgrade.md and keys.md while an installation has users, and counts the requests
# that failed: two replicas of each service as in production, a PostgreSQL primary with a standby, Redis, TLS everywhere,
# and a steady load. GATEHOUSE_CHANGE_STEPS="signing_key pepper" makes some of the changes alone; GATEHOUSE_CHANGE_CLIENTS (30) keep
# sessions; GATEHOUSE_OLD=REVISION or GATEHOUSE_OLD_BINARIES=FOLDER is the version before. Leaves nothing behind.
GATEHOUSE_LOCAL=$(cd "$(dirname "$0")/.." && pwd)/.local/test-change
export GATEHOUSE_LOCAL GATEHOUSE_ENVIRONMENT=production
for part in common processes packages build postgres; do
    # shellcheck source=/dev/null
    . "$(dirname "$0")/parts/$part.sh"
done
for part in old-version servers services steps; do
    # shellcheck source=/dev/null
    . "$scripts/change/$part.sh"
done

every_step="roll_tokens roll_devices roll_gateway roll_identity signing_key refresh_key pepper sealing_key credentials
    database_passwords certificates switch_over"
settling=${GATEHOUSE_CHANGE_SETTLING:-8}
access_lifetime=30
all_names="gateway-1 gateway-2 identity-1 identity-2 devices-1 devices-2 tokens-1 tokens-2 apple redis postgres-1 postgres-2 load"

remove() {
    stop TERM load gateway-1 gateway-2 identity-1 identity-2 devices-1 devices-2 tokens-1 tokens-2 apple redis
    stop INT postgres-1 postgres-2
    if [ -z "${GATEHOUSE_KEEP:-}" ]; then rm -rf "$state"; fi
}

if [ -d "$state" ]; then GATEHOUSE_KEEP='' remove; fi
ensure_packages
tools=$root/.local/tools/aiohttp-3.14.5
fetch_python_tools "$tools" aiohttp==3.14.5
build_release
build_old_version
lock_state
trap remove EXIT
trap 'exit 130' INT TERM HUP

# ---- An installation of the version before, where there is one.

tls=$state/tls
mkdir -p "$tls" "$keys" "$state/load"
# PostgreSQL's own user reads the certificates of its servers and of the authority, not the keys.
chmod 711 "$state" "$tls"
chmod 700 "$keys"
base=$(free_port_base)
declare -A database_password
postgres_port=(0 "$(free_port)" "$(free_port)")
redis_port=$(free_port)
hook_port=$(free_port)
primary=1

new_authority authority
cp "$tls/authority.pem" "$tls/authorities.pem"
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
    say "1:$(openssl rand -base64 32)" >"$keys/pepper.keys"
    say "1:$(openssl rand -base64 32)" >"$keys/sealing.keys"
)
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
binaries=$new_binaries

# ---- The load, and one change after the other.

cat >"$state/load/plan.json" <<END
{
    "gateways": [
        {"port": $(service_port gateway-1), "admin": $(service_admin_port gateway-1)},
        {"port": $(service_port gateway-2), "admin": $(service_admin_port gateway-2)}
    ],
    "authority": "$tls/authorities.pem", "hook": $hook_port, "clients": ${GATEHOUSE_CHANGE_CLIENTS:-30}, "reset_pause": 30,
    "apple": "$apple_url"
}
END
step() {
    alive load || fail "the load has ended: $logs/load.log"
    say "$1" >"$state/load/step"
    # The load looks each quarter of a second.
    settle 1
    note "$1"
}

load_is_up() {
    [ -f "$state/load/counts.json" ] && python3 -c \
        'import json, sys; sys.exit(json.load(open(sys.argv[1]))["sessions"] < int(sys.argv[2]))' \
        "$state/load/counts.json" "${GATEHOUSE_CHANGE_CLIENTS:-30}"
}

start load "$tools/bin/python" "$scripts/change/load.py" "$state/load"
wait_until 120 load_is_up || fail "the clients did not all sign in within 120 s"
steps=${GATEHOUSE_CHANGE_STEPS:-$every_step}
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
touch "$state/load/end"
wait_until 60 dead load || fail "the load does not end"

say
python3 "$scripts/change/report.py" "$state/load/counts.json"
