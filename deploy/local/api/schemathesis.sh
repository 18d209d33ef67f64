#!/usr/bin/env bash
# schemathesis.sh SECONDS   tries the system at GATEWAY_URL against docs/openapi/public.json with whatever requests
# schemathesis makes up, as users that hooks.py registers. What it saw is kept under the state folder.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/openapi.sh
. "$local_scripts/parts/openapi.sh"

# Longer than GATEHOUSE_PATIENCE_MS and what the gateway adds to it: a system on a busy machine may answer late, and what
# counts is what it answers.
request_timeout=30
ensure_openapi_test_tools
mkdir -p "$state/schemathesis"
cd "$state/schemathesis"
SCHEMATHESIS_HOOKS=$local_scripts/api/hooks.py PYTHONPATH=$local_scripts/api "$schemathesis_bin/schemathesis" \
    --config-file "$local_scripts/api/schemathesis.toml" --no-color run "$root/docs/openapi/public.json" \
    --url "$GATEWAY_URL" --max-time "$1" --request-timeout "$request_timeout" \
    --report json --report-json-path report.json
