#!/usr/bin/env bash
# Runs Prometheus with our alerts against the system here, which is started if needed. Ctrl-C stops Prometheus alone.
. "$(dirname "$0")/parts/system.sh"

[ -f "$state/env" ] || "$scripts/up.sh"
ensure_tools prometheus
need_port prometheus "$(port prometheus)"
mkdir -p "$state/prometheus"
fill "$scripts/settings/prometheus.yml" >"$state/prometheus/prometheus.yml"
# Debian's has its pages elsewhere than others: the address alone leads to them everywhere.
note "Prometheus is at http://127.0.0.1:$(port prometheus), with a page for its alerts"
exec prometheus --config.file="$state/prometheus/prometheus.yml" --storage.tsdb.path="$state/prometheus/data" \
    --web.listen-address="127.0.0.1:$(port prometheus)" --storage.tsdb.retention.time=1d --log.level=warn
