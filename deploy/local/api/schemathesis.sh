#!/usr/bin/env bash
# schemathesis.sh SECONDS   tries the system at GATEWAY_URL against docs/openapi/public.json with whatever requests
# schemathesis makes up, as users that hooks.py registers. What it saw is kept under the state folder.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=../parts/openapi.sh
. "$local_scripts/parts/openapi.sh"

ensure_openapi_test_tools
mkdir -p "$state/schemathesis"
cd "$state/schemathesis"
SCHEMATHESIS_HOOKS=$local_scripts/api/hooks.py PYTHONPATH=$local_scripts/api "$schemathesis_bin/schemathesis" \
    --config-file "$local_scripts/api/schemathesis.toml" --no-color run "$root/docs/openapi/public.json" \
    --url "$GATEWAY_URL" --max-time "$1" --report json --report-json-path report.json
