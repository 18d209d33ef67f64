#!/usr/bin/env bash
# Holds docs/openapi to a running system of its own: every example in turn, then schemathesis at the gateway and at each
# service's own ports, internal routes included: each operation, each other method of its path, and made-up requests for
# GATEHOUSE_API_SECONDS (600) at the gateway, a fifth of that or a minute elsewhere. Last, openapi-python-client makes a
# client of public.json.
. "$(dirname "$0")/parts/own-system.sh"

# A busy machine is slow, which is not what is tried here. Nor are limits: schemathesis would see little else.
export GATEHOUSE_PATIENCE_MS=20000
export GATEHOUSE_RATE_LIMITS=off
seconds=${GATEHOUSE_API_SECONDS:-600}
tools=$scripts/api
export PYTHONPATH=$scripts/openapi:$tools

# Each tool has a Python of its own: what one needs does not bind the other.
fetch_python_tools schemathesis schemathesis==4.32.5
fetch_python_tools client openapi-python-client==0.29.1

system_up
export_env

failed=0
note "Every example"
"$schemathesis/bin/python" "$tools/examples.py" "$state/examples" "$state/mail" || failed=1

# run_schemathesis REPORT ARGUMENT…: a request may take longer than GATEHOUSE_PATIENCE_MS and what the gateway adds to it.
run_schemathesis() {
    (cd "$state/schemathesis" && "$schemathesis/bin/schemathesis" --config-file "$tools/schemathesis.toml" --no-color \
        run "${@:2}" --request-timeout 30 --report json --report-json-path "$1.json") || failed=1
}

# try_description NAME DESCRIPTION URL SECONDS [ARGUMENT…]: first each operation at its boundaries and each other method of
# its path, however long that takes; then for SECONDS what schemathesis makes up.
try_description() {
    local name=$1 target=("$2" --url "$3") seconds=$4
    export DESCRIPTION=$2 SCHEMATHESIS_HOOKS=$tools/hooks.py
    shift 4
    note "schemathesis: $name, made-up requests for $seconds seconds"
    run_schemathesis "$name-boundaries" "${target[@]}" --phases examples,coverage "$@"
    run_schemathesis "$name-fuzzing" "${target[@]}" --phases fuzzing,stateful --max-time "$seconds" "$@"
}

mkdir -p "$state/schemathesis" "$state/descriptions"
# The hooks show the callers' credentials, and make operators as an administrator of users does.
set -a
# shellcheck source=/dev/null
. "$keys/secrets.env"
set +a
try_description public "$root/docs/openapi/public.json" "$GATEWAY_URL" "$seconds"

# As their callers see them: with the callers' credentials, and at the admin port with none.
inside=$((seconds / 5 > 60 ? seconds / 5 : 60))
for name in tokens devices identity gateway; do
    description=$state/descriptions/$name.json
    "$schemathesis/bin/python" "$tools/service_description.py" "$name" >"$description"
    export SERVICE=$name
    # The gateway's own port was tried above.
    if [ "$name" != gateway ]; then
        try_description "$name" "$description" "$(url "$name")" "$inside" --exclude-path /metrics
    fi
    try_description "$name-admin" "$description" "$(admin_url "$name")" "$inside" \
        --include-path-regex '^/(metrics|livez|readyz|operator)'
done

note "A client made of public.json"
PATH=$client/bin:$PATH openapi-python-client generate --path "$root/docs/openapi/public.json" --meta none \
    --fail-on-warning --output-path "$state/gatehouse_client" || fail "no client can be made of public.json"
[ "$failed" = 0 ] || fail "the system and its description differ; what schemathesis saw: $state/schemathesis"
