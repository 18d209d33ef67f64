#!/usr/bin/env bash
# Holds docs/openapi to a running system of its own: every example in turn, then schemathesis at the gateway and at each
# service's own ports, internal routes included: each operation, each other method of its path, and made-up requests for
# GATEHOUSE_API_SECONDS (600) at the gateway, a fifth of that or a minute elsewhere; then a client in Python that
# openapi-python-client makes of public.json.
root=$(cd "$(dirname "$0")/.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-api
# What the developer's own shell may say about another copy.
unset GATEHOUSE_PORT_BASE GATEHOUSE_ENVIRONMENT
# A busy machine is slow, which is not what is tried here. Nor are limits: schemathesis would see little else.
export GATEHOUSE_PATIENCE_MS=20000
export GATEHOUSE_RATE_LIMITS=off
# shellcheck source=parts/system.sh
. "$(dirname "$0")/parts/system.sh"
# shellcheck source=parts/openapi.sh
. "$scripts/parts/openapi.sh"

seconds=${GATEHOUSE_API_SECONDS:-600}
# The services would refuse a setting that is none of theirs.
unset GATEHOUSE_API_SECONDS
tools=$scripts/api
export PYTHONPATH=$scripts
hook=

cleanup() {
    [ -z "$hook" ] || kill "$hook" 2>/dev/null || true
    "$scripts/down.sh" >/dev/null
}

ensure_openapi_tools
ensure_openapi_test_tools
# Whatever an earlier run left. What schemathesis found stays until then.
if [ -d "$state" ]; then "$scripts/down.sh" >/dev/null; fi
rm -rf "$state"
mkdir -p "$state"
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# Stands for the team's own sender of mail, from whom the examples have the token for a new password.
python3 "$tools/sender.py" "$state/sender" &
hook=$!
wait_until 20 test -s "$state/sender/port" || fail "the sender of messages does not start"
IDENTITY_RESET_HOOK_URL=http://127.0.0.1:$(cat "$state/sender/port")/
export IDENTITY_RESET_HOOK_URL IDENTITY_RESET_HOOK_SECRET=development-hook

GATEHOUSE_PORT_BASE=$(free_port_base)
export GATEHOUSE_PORT_BASE
"$scripts/up.sh"
set -a
# shellcheck source=/dev/null
. "$state/env"
set +a

failed=0
note "Every example"
"$openapi_python" "$tools/examples.py" "$state/examples" "$state/sender/token" || failed=1

# try_description NAME DESCRIPTION URL SECONDS HOOKS [ARGUMENT…]
try_description() {
    note "schemathesis: $1, made-up requests for $4 seconds"
    "$tools/schemathesis.sh" "$@" || failed=1
}

# An operator is made by who may administer users.
ensure_keys
export ADMIN_IDENTITY_SECRET
try_description public "$root/docs/openapi/public.json" "$GATEWAY_URL" "$seconds" hooks.py

# As their callers see them: with the callers' credentials, and at the admin port with none.
inside=$((seconds / 5 > 60 ? seconds / 5 : 60))
mkdir -p "$state/descriptions"
for name in tokens devices identity gateway; do
    description=$state/descriptions/$name.json
    "$openapi_python" "$tools/service_description.py" "$name" >"$description"
    url=$(upper "$name")_URL
    admin_url=$(upper "$name")_ADMIN_URL
    (
        set -a
        # shellcheck source=/dev/null
        . "$keys/secrets.env"
        SERVICE=$name
        # The gateway's own port was tried above.
        if [ "$name" != gateway ]; then
            try_description "$name" "$description" "${!url}" "$inside" service_hooks.py --exclude-path /metrics
        fi
        try_description "$name-admin" "$description" "${!admin_url}" "$inside" service_hooks.py \
            --include-path-regex '^/(metrics|livez|readyz|operator)'
        exit "$failed"
    ) || failed=1
done

note "A client made of public.json"
mkdir -p "$state/client"
PATH=$client_bin:$PATH openapi-python-client generate --path "$root/docs/openapi/public.json" --meta none \
    --fail-on-warning --output-path "$state/client/gatehouse_client" || fail "no client can be made of public.json"
PYTHONPATH=$state/client "$client_bin/python" "$tools/client.py" || failed=1

[ "$failed" = 0 ] || fail "the system and its description differ; what schemathesis saw: $state/schemathesis"
