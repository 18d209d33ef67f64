#!/usr/bin/env python3
"""dashboards.py [--check]   writes the dashboards beside it, dashboards/*.json; with --check it fails where they are
not up to date.

A dashboard is a list of rows, a row a title and its panels. Panels share their row's width.
"""

import json
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent / "dashboards"
SERVICES = "gateway|identity|tokens|devices"
# redis_exporter, which may run beside, has some of the same names.
OF_REDIS = '{job=~"gateway|identity|tokens"}'
SIGN_INS = "/v1/auth/(apple|login|register|code/verify)"
WIDTH, HEIGHT = 24, 8


def graph(title, *queries, unit="reqps", stack=False, most=None, text=""):
    """Lines over time. A query is an expression and the text that names its lines."""
    custom = {"fillOpacity": 20 if stack else 5, "showPoints": "never"}
    if stack:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    defaults = {"unit": unit, "min": 0, "custom": custom}
    if most is not None:
        defaults["max"] = most
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel("timeseries", title, queries, defaults, options, text)


def number(title, expression, unit="short", bad=None, text=""):
    """The last value alone, red from `bad` on."""
    steps = [{"color": "green", "value": None}]
    if bad is not None:
        steps.append({"color": "red", "value": bad})
    defaults = {"unit": unit, "thresholds": {"mode": "absolute", "steps": steps}}
    options = {"colorMode": "value", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}}
    return panel("stat", title, [(expression, "")], defaults, options, text)


def table(title, expression, text=""):
    made = panel("table", title, [(expression, "")], {}, {"showHeader": True}, text)
    made["targets"][0].update(format="table", instant=True)
    return made


def panel(kind, title, queries, defaults, options, text):
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "type": kind,
        "title": title,
        "description": text,
        "datasource": source,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": source, "expr": expression, "legendFormat": legend}
            for place, (expression, legend) in enumerate(queries)
        ],
    }


def dashboard(name, title, text, *rows):
    panels, top = [], 0
    for heading, *of_row in rows:
        panels.append(
            {
                "type": "row",
                "title": heading,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
            }
        )
        top += 1
        width = WIDTH // len(of_row)
        height = 4 if all(made["type"] == "stat" for made in of_row) else HEIGHT
        for place, made in enumerate(of_row):
            panels.append({**made, "gridPos": {"x": place * width, "y": top, "w": width, "h": height}})
        top += height
    for number_of_panel, made in enumerate(panels, 1):
        made["id"] = number_of_panel
    source = {"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "hide": 0}
    return name, {
        "uid": f"gatehouse-{name}",
        "title": title,
        "description": text,
        "tags": ["gatehouse"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [source]},
        "annotations": {"list": []},
        "links": [
            {
                "type": "dashboards",
                "title": "Gatehouse",
                "tags": ["gatehouse"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "panels": panels,
    }


def quantiles(metric, by, *shares):
    """Queries of a histogram, a line for each share."""
    labels = f"le, {by}" if by else "le"
    legend = f"{{{{{by}}}}} " if by else ""
    return [
        (
            f"histogram_quantile({share}, sum by ({labels}) (rate({metric}[$__rate_interval])))",
            f"{legend}p{share * 100:g}",
        )
        for share in shares
    ]


def rates(metric, *labels, legend=None):
    """A query: how fast a counter rises, a line for each value of the labels."""
    by = f" by ({', '.join(labels)}) " if labels else ""
    legend = " ".join(f"{{{{{label}}}}}" for label in labels) if legend is None else legend
    return f"sum{by}(rate({metric}[$__rate_interval]))", legend


def of_gateway(metric, more=""):
    return f'{metric}{{job="gateway", route!~"unknown|/livez|/readyz"{more}}}'


dashboards = [
    dashboard(
        "overview",
        "Gatehouse: overview",
        "Whether people can sign in, stay signed in and reach the services.",
        (
            "Now",
            number("Requests", "gatehouse:gateway_requests:rate5m", "reqps"),
            number(
                "Failed, of Gatehouse's own routes",
                "gatehouse:gateway_errors:ratio_rate5m",
                "percentunit",
                0.001,
                "The promise is one in a thousand over 30 days.",
            ),
            number(
                "Slower than 0.5 s",
                "gatehouse:gateway_slow:ratio_rate5m",
                "percentunit",
                0.01,
                "The promise is one in a hundred over 30 days.",
            ),
            number(
                "Sign-ins in an hour",
                f'sum(increase(http_server_requests_total{{job="gateway", route=~"{SIGN_INS}", status=~"2.."}}[1h]))',
            ),
            number(
                "Thefts in a day",
                'sum(increase(tokens_refresh_total{outcome=~"theft.olderToken|theft.lateReplay"}[1d]))',
                bad=5,
            ),
        ),
        (
            "Alerts and replicas",
            table("Alerts that fire", 'ALERTS{alertstate="firing"}', "Each has a section under docs/operations/alerts."),
            graph("Replicas that answer", (f'sum by (job) (up{{job=~"{SERVICES}"}})', "{{job}}"), unit="short"),
        ),
        (
            "Requests at the gateway",
            graph("By status", rates(of_gateway("http_server_requests_total"), "status"), stack=True),
            graph(
                "Time to the end of the answer",
                *quantiles(of_gateway("http_server_request_duration_seconds_bucket"), "", 0.5, 0.9, 0.99),
                unit="s",
            ),
        ),
        (
            "Budgets of 30 days",
            graph(
                "Errors",
                *[(f"gatehouse:gateway_errors:ratio_rate{window}", window) for window in ("1h", "6h", "1d", "3d")],
                unit="percentunit",
            ),
            graph(
                "Slow answers",
                *[(f"gatehouse:gateway_slow:ratio_rate{window}", window) for window in ("1h", "6h", "1d", "3d")],
                unit="percentunit",
            ),
        ),
    ),
    dashboard(
        "gateway",
        "Gatehouse: gateway",
        "Latency, refusals, and the services behind it.",
        (
            "By route",
            graph("Requests", rates(of_gateway("http_server_requests_total"), "route")),
            graph("5xx", rates(of_gateway("http_server_requests_total", ', status=~"5.."'), "route", "status")),
            graph(
                "99 % answered within",
                *quantiles(of_gateway("http_server_request_duration_seconds_bucket"), "route", 0.99),
                unit="s",
            ),
        ),
        (
            "Where the time goes",
            graph(
                "Service, to the head of its answer",
                *quantiles("gatehouse_gateway_upstream_duration_seconds_bucket", "", 0.5, 0.99),
                unit="s",
            ),
            graph(
                "Whole answer",
                *quantiles(of_gateway("http_server_request_duration_seconds_bucket"), "", 0.5, 0.99),
                unit="s",
                text="Beyond the service's time: the gateway's own, the body, and how fast clients read.",
            ),
        ),
        (
            "Refusals",
            graph("By reason", ("gatehouse:gateway_refusals:rate5m", "{{reason}}"), stack=True),
            graph("Rate limits, by route", rates('gatehouse_gateway_refusals_total{reason="RATE_LIMITED"}', "route")),
            graph("Buckets shared", rates("gatehouse_gateway_rate_limit_sharing_total", "limit")),
        ),
        (
            "Services behind it",
            graph(
                "Set aside (event loops)",
                ("sum by (address) (gatehouse_gateway_upstream_set_aside_event_loops)", "{{address}}"),
                unit="short",
            ),
            graph(
                "Fails its health check (replicas of the gateway)",
                ("sum by (address) (gatehouse_gateway_upstream_unhealthy)", "{{address}}"),
                unit="short",
            ),
            graph("Health checks", rates("gatehouse_gateway_health_checks_total", "result")),
            graph("Retries", rates("gatehouse_gateway_retries_total", "result")),
        ),
        (
            "Connections and tokens",
            graph("Connections", ("gatehouse_gateway_connections", "{{instance}}"), unit="short"),
            graph(
                "Access tokens found in the cache",
                (
                    'sum(rate(gatehouse_gateway_token_cache_lookups_total{result="hit"}[$__rate_interval])) '
                    "/ sum(rate(gatehouse_gateway_token_cache_lookups_total[$__rate_interval]))",
                    "hits",
                ),
                unit="percentunit",
                most=1,
            ),
            graph(
                "Names that could not be looked up", rates("gatehouse_gateway_name_lookup_failures_total", "instance")
            ),
            number(
                "Days until the certificate expires",
                "(min(gatehouse_gateway_tls_certificate_expiry_timestamp_seconds) - time()) / 86400",
                "d",
            ),
        ),
    ),
    dashboard(
        "sign-ins",
        "Gatehouse: sign-ins",
        "Apple, passwords, the hash queue, what identity still has to tell others.",
        (
            "Sign-ins at the gateway",
            graph(
                "Successful",
                rates(f'http_server_requests_total{{job="gateway", route=~"{SIGN_INS}", status=~"2.."}}', "route"),
                stack=True,
            ),
            graph(
                "Refused and failed",
                rates(
                    f'http_server_requests_total{{job="gateway", route=~"{SIGN_INS}", status=~"4..|5.."}}',
                    "route",
                    "status",
                ),
            ),
            graph(
                "99 % answered within",
                *quantiles(
                    f'http_server_request_duration_seconds_bucket{{job="gateway", route=~"{SIGN_INS}"}}', "route", 0.99
                ),
                unit="s",
            ),
        ),
        (
            "Hash queue",
            graph(
                "Threads that hash",
                ("gatehouse:hashing_threads_busy:rate5m", "{{instance}}"),
                unit="short",
                text="IDENTITY_HASHING_THREADS at the most.",
            ),
            graph("A hash takes", *quantiles("identity_password_hash_seconds_bucket", "", 0.5, 0.95), unit="s"),
            graph("Refused: no place in the queue", rates("identity_password_hash_refused_total", "instance")),
            graph("Waiting", ("identity_password_hashes_waiting", "{{instance}}"), unit="short"),
        ),
        (
            "Others",
            graph("Apple's keys not fetched", rates("identity_apple_keys_fetch_failed_total", legend="failures")),
            graph(
                "Outbox",
                rates("identity_outbox_failed_total", legend="tasks that failed"),
                rates("identity_outbox_claim_failed_total", legend="could not be read"),
            ),
            graph(
                "Oldest task in the outbox",
                ("max by (destination) (identity_outbox_oldest_task_age_seconds)", "{{destination}}"),
                unit="s",
            ),
            graph(
                "Tasks in the outbox",
                ("max by (destination) (identity_outbox_tasks)", "{{destination}}"),
                unit="short",
                text="Counted up to 10,000 for each destination.",
            ),
            graph("Limits without Redis", rates('redis_rate_limit_fallbacks_total{job="identity"}', "limit")),
        ),
    ),
    dashboard(
        "sessions",
        "Gatehouse: sessions",
        "Refreshes by outcome, thefts, the revocation feed.",
        (
            "Refreshes",
            graph("By outcome", rates("tokens_refresh_total", "outcome"), stack=True),
            graph("All outcomes but rotated", rates('tokens_refresh_total{outcome!="rotated"}', "outcome")),
            graph(
                "At the gateway, by status",
                rates('http_server_requests_total{job="gateway", route=~"/v1/auth/refresh|/oauth/token"}', "status"),
                stack=True,
            ),
        ),
        (
            "What is wrong with refresh tokens",
            graph(
                "Thefts in an hour",
                (
                    "sum by (outcome) (increase("
                    'tokens_refresh_total{outcome=~"theft.olderToken|theft.lateReplay"}[1h]))',
                    "{{outcome}}",
                ),
                unit="short",
            ),
            graph(
                "Late replays, of all rotations",
                (
                    'sum(increase(tokens_refresh_total{outcome="lateReplay"}[1h])) '
                    '/ sum(increase(tokens_refresh_total{outcome="rotated"}[1h]))',
                    "share",
                ),
                unit="percentunit",
            ),
            graph(
                "Forked, forged, unreadable",
                (
                    "sum by (outcome) (increase("
                    'tokens_refresh_total{outcome=~"refused.forked|refused.forged|broken"}[1h]))',
                    "{{outcome}}",
                ),
                unit="short",
            ),
        ),
        (
            "How fast",
            graph(
                "A refresh takes tokens",
                *quantiles(
                    'http_server_request_duration_seconds_bucket{job="tokens", route="/v1/auth/refresh"}', "", 0.5, 0.99
                ),
                unit="s",
            ),
            graph(
                "Race lock", rates("tokens_race_lock_total", "result"), text="bypassed: Redis did not answer in time."
            ),
            graph(
                "CPU of tokens",
                ('rate(process_cpu_seconds_total{job="tokens"}[$__rate_interval])', "{{instance}}"),
                unit="short",
                text="Cores.",
            ),
        ),
        (
            "Revocation feed",
            graph(
                "Lost",
                ("gatehouse_gateway_revocation_feed_lost", "gateway {{instance}}"),
                ("devices_revocation_feed_lost", "devices {{instance}}"),
                unit="short",
                most=1,
            ),
            graph(
                "Behind the feed",
                (
                    "time() - gatehouse_gateway_revocation_feed_read_timestamp_seconds",
                    "gateway {{instance}}",
                ),
                ("time() - devices_revocation_feed_read_timestamp_seconds", "devices {{instance}}"),
                ("time() - identity_revocation_feed_read_timestamp_seconds", "identity {{instance}}"),
                unit="s",
                text="Since a reader was at the feed's end. It waits there for 20 s at a time, so up to 35 s are well.",
            ),
            graph(
                "A revocation is known after",
                *(
                    (
                        f"histogram_quantile({share}, sum by (le) (rate({metric}_bucket[$__rate_interval])))",
                        f"{reader} p{share * 100:g}",
                    )
                    for reader, metric in (
                        ("gateway", "gatehouse_gateway_revocation_delay_seconds"),
                        ("devices", "devices_revocation_delay_seconds"),
                    )
                    for share in (0.5, 0.99)
                ),
                unit="s",
            ),
        ),
        (
            "Sessions that have ended",
            graph(
                "Revoked sessions whose access tokens may live",
                ("gatehouse_gateway_revoked_sessions", "{{instance}}"),
                unit="short",
            ),
            graph("Removed rows of tokens", rates("tokens_purged_rows_total", "table"), unit="short"),
        ),
    ),
    dashboard(
        "data",
        "Gatehouse: PostgreSQL, Redis, processes",
        "Pools, errors, and what the processes take.",
        (
            "Pools",
            graph(
                "Connections",
                ("sum by (pool, state) (postgres_pool_connections)", "{{pool}} {{state}}"),
                unit="short",
                stack=True,
            ),
            graph("Requests that wait for one", ("sum by (pool) (postgres_pool_waiting)", "{{pool}}"), unit="short"),
            graph("99 % have one within", *quantiles("postgres_pool_acquire_seconds_bucket", "pool", 0.99), unit="s"),
        ),
        (
            "Errors",
            graph("PostgreSQL", rates("postgres_errors_total", "pool", "code", "sqlstate")),
            graph("Oldest prepared transaction", ("max(tokens_oldest_prepared_transaction_seconds)", "age"), unit="s"),
            graph(
                "Removing what has ended",
                rates("tokens_purge_errors_total", "table", legend="tokens {{table}}"),
                rates("identity_housekeeping_failed_total", legend="identity"),
            ),
        ),
        (
            "Redis",
            graph("Commands", rates(f"redis_commands_total{OF_REDIS}", "job")),
            graph(
                "Errors and time-outs",
                rates(f"redis_errors_total{OF_REDIS}", "job", legend="{{job}} errors"),
                rates(f"redis_timeouts_total{OF_REDIS}", "job", legend="{{job}} time-outs"),
            ),
            graph(
                "Connections",
                rates(f"redis_connects_total{OF_REDIS}", "job", legend="{{job}} opened"),
                rates(f"redis_connection_failures_total{OF_REDIS}", "job", legend="{{job}} failed"),
            ),
        ),
        (
            "Processes",
            graph(
                "CPU",
                (f'rate(process_cpu_seconds_total{{job=~"{SERVICES}"}}[$__rate_interval])', "{{job}} {{instance}}"),
                unit="short",
                text="Cores.",
            ),
            graph(
                "Memory", (f'process_resident_memory_bytes{{job=~"{SERVICES}"}}', "{{job}} {{instance}}"), unit="bytes"
            ),
            graph("Open files", (f'process_open_fds{{job=~"{SERVICES}"}}', "{{job}} {{instance}}"), unit="short"),
        ),
    ),
    dashboard(
        "devices",
        "Gatehouse: devices",
        "Registrations, and devices that are detached when their session ends.",
        (
            "Routes",
            graph(
                "Requests",
                rates('http_server_requests_total{job="devices", route!="unknown"}', "route", "status"),
                stack=True,
            ),
            graph(
                "99 % answered within",
                *quantiles(
                    'http_server_request_duration_seconds_bucket{job="devices", route!="unknown"}', "route", 0.99
                ),
                unit="s",
            ),
        ),
        (
            "Revocation feed",
            graph("Devices detached", rates("devices_detached_total", legend="a second"), unit="short"),
            graph(
                "Started over with the feed",
                ("sum by (instance) (devices_revocation_feed_resets_total)", "{{instance}}"),
                unit="short",
            ),
        ),
    ),
]


def main():
    texts = {folder / f"{name}.json": json.dumps(made, indent=2) + "\n" for name, made in dashboards}
    if sys.argv[1:] == ["--check"]:
        stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
        stale += set(folder.glob("*.json")) - set(texts)
        if stale:
            sys.exit(f"not up to date, run {Path(__file__).name}: {', '.join(path.name for path in stale)}")
    elif not sys.argv[1:]:
        for path, text in texts.items():
            path.write_text(text)
    else:
        sys.exit(__doc__)


main()
