#!/usr/bin/env bash
# schemathesis.sh NAME DESCRIPTION URL SECONDS HOOKS [ARGUMENT OF schemathesis…]   tries what is at URL against its
# description, as whom HOOKS says: first each operation at its boundaries, and each other method of its path, however long
# that takes; then for SECONDS whatever requests schemathesis makes up. What it saw is kept under the state folder.
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$scripts/parts/packages.sh"
# shellcheck source=../parts/openapi.sh
. "$scripts/parts/openapi.sh"

# Longer than GATEHOUSE_PATIENCE_MS and what the gateway adds to it: a system on a busy machine may answer late, and what
# counts is what it answers.
request_timeout=30
name=$1 description=$2 url=$3 seconds=$4 hooks=$5
shift 5
ensure_openapi_test_tools
mkdir -p "$state/schemathesis"
cd "$state/schemathesis"
failed=0
# run PART ARGUMENT…
run() {
    DESCRIPTION=$description SCHEMATHESIS_HOOKS=$scripts/api/$hooks PYTHONPATH=$scripts:$scripts/api \
        "$schemathesis_bin/schemathesis" --config-file "$scripts/api/schemathesis.toml" --no-color run \
        "$description" --url "$url" --request-timeout "$request_timeout" --report json \
        --report-json-path "$name-$1.json" "${@:2}" || failed=1
}
run boundaries --phases examples,coverage "$@"
run fuzzing --phases fuzzing,stateful --max-time "$seconds" "$@"
exit "$failed"
