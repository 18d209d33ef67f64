#!/usr/bin/env bash
# Tries observability.py on a copy of the tree: as it is it passes, and each slip is refused by name.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-observability
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=../parts/packages.sh
. "$local_scripts/parts/packages.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"
# shellcheck source=refusals.sh
. "$local_scripts/checks/refusals.sh"

ensure_python_yaml
tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT
cd "$root"
mkdir -p "$tree/deploy/local/lint" "$tree/docs"
cp -R Services Shared README.md "$tree"
cp -R deploy/observability "$tree/deploy"
cp -R docs/runbooks docs/operations "$tree/docs"
cp deploy/local/lint/observability.py "$tree/deploy/local/lint"
rules=deploy/observability/rules tests=deploy/observability/tests pages=docs/runbooks

observability() { "$python" "$tree/deploy/local/lint/observability.py" "$@"; }
check() { observability lint; }
expect "the tree as it is passes" check

refuses "a metric that the code no longer makes" "no service makes the metric tokens_refresh_total" \
    Services/tokens/Sources/Refreshing/RefreshMetrics.swift 's/tokens_refresh_total"/tokens_refreshes_total"/'
refuses "a counter whose name does not say so" "tokens_refresh is a counter, and does not end with _total" \
    Services/tokens/Sources/Refreshing/RefreshMetrics.swift 's/"tokens_refresh_total"/"tokens_refresh"/'
refuses "an outcome that was renamed" "outcome='refused.forked' is no word" \
    Services/tokens/Sources/Refreshing/RefreshMetrics.swift 's/"refused.forked"/"refused.torn"/'
refuses "a label that the metric has not" "has no label result" $rules/refreshes.yml \
    's/{outcome="broken"}/{result="hit"}/'
refuses "a route that nobody serves" "no service has the route /v1/auth/renew" $rules/refreshes.yml \
    's|"/v1/auth/refresh.|"/v1/auth/renew\||'
refuses "an alert without a page" "GatehouseLost has no page" $rules/redis.yml \
    's/alert: GatehouseRedisAway/alert: GatehouseLost/'
refuses "a page without an alert" "GatehouseRedisAway.md: there is no such alert" $rules/redis.yml \
    's/alert: GatehouseRedisAway/alert: GatehouseLost/'
refuses "an alert that no test sees fire" "GatehouseRedisAway fires in no test" $tests/redis.yml \
    's/labels: ALERTS{alertname="GatehouseRedisAway"/labels: ALERTS{alertname="GatehouseRedisSlow"/'
refuses "an alert that no test sees silent" "no test shows that GatehouseOutboxNotRead" $tests/outbox.yml \
    's/ALERTS{alertname="GatehouseOutboxNotRead"}/ALERTS{alertname="GatehouseOutboxTasksFail"}/'
refuses "a log line that nobody writes" "nobody logs 'lost the feed'" $pages/GatehouseRevocationFeedLost.md \
    's/.lost the revocation feed. (warning/\x60lost the feed\x60 (warning/'
refuses "a setting that is none" "the setting GATEWAY_ROUTE_FILE" $pages/GatehouseRouteFails.md \
    's/GATEWAY_UPSTREAM_IDLE_TIMEOUT/GATEWAY_ROUTE_FILE/'
refuses "a query for what is not there" "no service makes the metric redis_timeout_total" $pages/GatehouseRedisSlow.md \
    's/redis_timeouts_total/redis_timeout_total/'
refuses "a dashboard for what is not there" "no service makes the metric redis_timeout_total" \
    deploy/observability/grafana/dashboards/data.json 's/redis_timeouts_total/redis_timeout_total/'

printf '# TYPE tokens_forgotten_total counter\ntokens_forgotten_total 1\n' >"$tree/metrics"
refuse "refused: a metric that a service prints and the sources, as they are read, lack" observability scraped "$tree/metrics"
