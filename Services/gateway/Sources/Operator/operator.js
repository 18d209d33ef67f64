"use strict";
// Requests the status and the metrics of this gateway, and inserts them as text: no data from a response becomes
// markup.

const interval = 2000;
// Milliseconds after which a request is given up.
const timeout = 5000;
// Samples of metrics that are kept. Rates are computed between the newest and the oldest.
const mostKept = 6;

const kept = [];
let lastAnswer = null;

function element(id) {
    return document.getElementById(id);
}

// --- metrics

// Name → [{labels, value}] of the Prometheus text format 0.0.4.
function parseMetrics(text) {
    const families = new Map();
    for (const line of text.split("\n")) {
        const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
        if (!match) continue;
        const labels = {};
        for (const [, name, value] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
            labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
        }
        if (!families.has(match[1])) families.set(match[1], []);
        families.get(match[1]).push({ labels, value: Number(match[3]) });
    }
    return families;
}

function series(metrics, name, condition = () => true) {
    return (metrics.get(name) ?? []).filter(({ labels }) => condition(labels));
}

function sum(metrics, name, condition) {
    return series(metrics, name, condition).reduce((total, { value }) => total + value, 0);
}

// The rate of a counter per second. A restarted process counts from 0.
function rate(name, condition) {
    const [first, last] = [kept[0], kept[kept.length - 1]];
    const seconds = (last.at - first.at) / 1000;
    if (!(seconds > 0)) return null;
    return Math.max(0, sum(last.metrics, name, condition) - sum(first.metrics, name, condition)) / seconds;
}

// The quantile `part`, in seconds, of the durations counted since `first`; `null` if none were counted. With the newest
// sample as `first`: since the process started.
function quantile(part, name, condition, first = kept[0]) {
    const last = kept[kept.length - 1];
    const counts = new Map();
    for (const [metrics, sign] of [[last.metrics, 1], [first.metrics, -1]]) {
        if (sign < 0 && first === last) continue;
        for (const { labels, value } of series(metrics, `${name}_bucket`, condition)) {
            const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
            counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
        }
    }
    const buckets = [...counts].sort(([one], [other]) => one - other);
    const total = buckets.at(-1)?.[1] ?? 0;
    if (!(total > 0)) return null;
    let [lower, below] = [0, 0];
    for (const [bound, count] of buckets) {
        if (count >= part * total) {
            if (bound === Infinity) return lower;
            return lower + (bound - lower) * (count > below ? (part * total - below) / (count - below) : 1);
        }
        [lower, below] = [bound, count];
    }
    return lower;
}

// --- words

function perSecond(value) {
    if (value === null) return "–";
    return `${value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(2)} /s`;
}

function duration(seconds) {
    if (seconds === null) return "–";
    return seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
}

function span(seconds) {
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
        if (Math.abs(seconds) >= size) return `${Math.floor(Math.abs(seconds) / size)} ${unit}`;
    }
    return `${Math.floor(Math.abs(seconds))} s`;
}

function age(time, now) {
    return time ? span((now - new Date(time)) / 1000) : "–";
}

// --- the page

function cell(content, kind = "td") {
    const [text, style] = Array.isArray(content) ? content : [content, ""];
    const made = document.createElement(kind);
    made.textContent = text ?? "–";
    if (style) made.className = style;
    return made;
}

function table(id, head, rows) {
    const made = [head.map((title) => cell(title, "th")), ...rows.map((row) => row.map((value) => cell(value)))];
    element(id).replaceChildren(
        ...made.map((cells) => {
            const row = document.createElement("tr");
            row.append(...cells);
            return row;
        }),
    );
}

function tiles(id, entries) {
    element(id).replaceChildren(
        ...entries.map(([name, content]) => {
            const made = document.createElement("div");
            made.append(cell(name, "dt"), cell(content, "dd"));
            return made;
        }),
    );
}

const failed = ({ status }) => status.startsWith("5");
const number = (text) => [text, "number"];

function showSelf(status, now) {
    const revision = status.revision ? ` (${status.revision})` : "";
    const ready = status.failing.length ? `not ready: ${status.failing.join(", ")}` : "ready";
    element("self").textContent =
        `Gateway ${status.version}${revision}, started ${age(status.startedAt, now)} ago, ${ready}.`;
    element("self").className = status.failing.length ? "bad" : "";
}

function showTraffic(metrics) {
    const all = ({ route }) => route !== "unknown";
    const failures = rate("http_server_requests_total", (labels) => all(labels) && failed(labels));
    tiles("traffic", [
        ["Requests", perSecond(rate("http_server_requests_total", all))],
        ["Failures (5xx)", [perSecond(failures), failures > 0 ? "bad" : ""]],
        ["Half within", duration(quantile(0.5, "http_server_request_duration_seconds", all))],
        ["99 % within", duration(quantile(0.99, "http_server_request_duration_seconds", all))],
        ["Refusals", perSecond(rate("gatehouse_gateway_refusals_total"))],
        ["Retries", perSecond(rate("gatehouse_gateway_retries_total", ({ result }) => result === "sent"))],
        ["Connections", String(sum(metrics, "gatehouse_gateway_connections"))],
    ]);
}

function showReplicas(status, now) {
    const states = { ready: ["ready", "good"], notReady: ["not ready", "bad"], unreachable: ["does not answer", "bad"] };
    table(
        "replicas",
        ["Service", "Address", "State", "Version", "Revision", "Started", "Last ready", number("Answer")],
        status.replicas.map((replica) => {
            const [word, style] = states[replica.state];
            const failing = replica.failing.length ? `: ${replica.failing.join(", ")}` : "";
            return [
                replica.service,
                replica.address,
                [word + failing, style],
                replica.version ?? "unknown",
                replica.revision,
                replica.startedAt ? `${age(replica.startedAt, now)} ago` : null,
                replica.readyAt ? `${age(replica.readyAt, now)} ago` : "not yet",
                number(duration(replica.milliseconds === undefined ? null : replica.milliseconds / 1000)),
            ];
        }),
    );
    element("not-asked").textContent =
        status.replicasNotAsked > 0 ? `${status.replicasNotAsked} more are not probed.` : "";
}

function showRoutes(metrics) {
    const names = new Set();
    for (const { labels, value } of series(metrics, "http_server_requests_total")) {
        if (value > 0 && labels.route !== "unknown") names.add(labels.route);
    }
    const rows = [...names].map((name) => {
        const own = ({ route }) => route === name;
        const failures = rate("http_server_requests_total", (labels) => own(labels) && failed(labels));
        return {
            rate: rate("http_server_requests_total", own),
            total: sum(metrics, "http_server_requests_total", own),
            cells: [
                name,
                number(perSecond(rate("http_server_requests_total", own))),
                number(String(sum(metrics, "http_server_requests_total", own))),
                [perSecond(failures), failures > 0 ? "number bad" : "number"],
                number(duration(quantile(0.5, "http_server_request_duration_seconds", own))),
                number(duration(quantile(0.99, "http_server_request_duration_seconds", own))),
                number(duration(quantile(0.99, "gatehouse_gateway_upstream_duration_seconds", own))),
            ],
        };
    });
    rows.sort((one, other) => other.rate - one.rate || other.total - one.total);
    table(
        "routes",
        ["Route", ...["Requests", "Since start", "5xx", "Half within", "99 % within", "Upstream, 99 %"].map(number)],
        rows.slice(0, 50).map(({ cells }) => cells),
    );
}

function showRefusals(metrics) {
    const refusals = series(metrics, "gatehouse_gateway_refusals_total").filter(({ value }) => value > 0);
    refusals.sort((one, other) => other.value - one.value);
    table(
        "refusals",
        ["Reason", "Route", number("Rate"), number("Since start")],
        refusals.slice(0, 50).map(({ labels, value }) => [
            labels.reason,
            labels.route || "none",
            number(
                perSecond(
                    rate(
                        "gatehouse_gateway_refusals_total",
                        (other) => other.reason === labels.reason && other.route === labels.route,
                    ),
                ),
            ),
            number(String(value)),
        ]),
    );
}

function showCircuits(metrics) {
    const health = new Map();
    for (const { labels, value } of series(metrics, "gatehouse_gateway_upstream_unhealthy")) {
        health.set(labels.address, value > 0 || (health.get(labels.address) ?? false));
    }
    table(
        "circuits",
        ["Address", "Set aside", "Health check"],
        series(metrics, "gatehouse_gateway_upstream_set_aside_event_loops").map(({ labels, value }) => [
            labels.address,
            value > 0 ? [`on ${value} event loops`, "bad"] : ["no", "good"],
            !health.has(labels.address) ? "none" : health.get(labels.address) ? ["fails", "bad"] : ["passes", "good"],
        ]),
    );
}

// The states that tokens reports; unknown ones are shown unchanged.
const keyStates = { active: "signs", next: "signs next", retiring: "no longer signs" };

function showTokens(status, metrics, now) {
    table(
        "keys",
        ["Issuer", "Key", "State", "For", "Known here for", "Fetched"],
        status.keys.map((key) => [
            key.issuer,
            key.kid,
            keyStates[key.state] ?? key.state ?? "unknown",
            key.since ? age(key.since, now) : "unknown",
            age(key.seenSince, now),
            `${age(key.fetchedAt, now)} ago`,
        ]),
    );
    const feed = status.feed.lostSince
        ? [`lost for ${age(status.feed.lostSince, now)}`, "bad"]
        : [
              status.feed.readAt ? `read ${age(status.feed.readAt, now)} ago` : "never read",
              // A reader is at the feed's end every 20 s.
              status.feed.readAt && now - new Date(status.feed.readAt) < 60000 ? "good" : "bad",
          ];
    const newest = kept[kept.length - 1];
    const delay = quantile(0.99, "gatehouse_gateway_revocation_delay_seconds", undefined, newest);
    const hits = rate("gatehouse_gateway_token_cache_lookups_total", ({ result }) => result === "hit");
    const lookups = rate("gatehouse_gateway_token_cache_lookups_total");
    const entries = [
        ["Revocation feed", feed],
        ["99 % of revocations known after", [duration(delay), delay > 2.5 ? "bad" : ""]],
        ["Revoked sessions in memory", String(status.feed.revokedSessions)],
        ["Bearers found in the cache", lookups > 0 ? `${((100 * hits) / lookups).toFixed(0)} %` : "–"],
    ];
    for (const { value } of series(metrics, "gatehouse_gateway_tls_certificate_expiry_timestamp_seconds")) {
        const left = value - now / 1000;
        entries.push(["Certificate", left > 0 ? `expires in ${span(left)}` : ["has expired", "bad"]]);
    }
    tiles("tokens", entries);
}

function show(status, metrics) {
    // Ages use the gateway's clock, not the browser's.
    const now = new Date(status.at);
    element("window").textContent = ((kept[kept.length - 1].at - kept[0].at) / 1000).toFixed(0);
    showSelf(status, now);
    showTraffic(metrics);
    showReplicas(status, now);
    showRoutes(metrics);
    showRefusals(metrics);
    showCircuits(metrics);
    showTokens(status, metrics, now);
    document.querySelector("main").hidden = false;
}

function showStaleness(reason) {
    const line = element("staleness");
    line.hidden = reason === null;
    document.body.className = reason === null ? "" : "stale";
    if (reason === null) return;
    line.textContent =
        lastAnswer === null
            ? `The gateway does not answer (${reason}).`
            : `The gateway has not answered for ${span((Date.now() - lastAnswer) / 1000)} (${reason}). ` +
              "The data on this page is equally old.";
}

async function ask(path) {
    const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(timeout) });
    if (!answer.ok) throw new Error(`${path} is ${answer.status}`);
    return answer;
}

async function look() {
    try {
        const [status, text] = await Promise.all([
            ask("/operator.json").then((answer) => answer.json()),
            ask("/metrics").then((answer) => answer.text()),
        ]);
        const metrics = parseMetrics(text);
        kept.push({ at: performance.now(), metrics });
        if (kept.length > mostKept) kept.shift();
        show(status, metrics);
        lastAnswer = Date.now();
        showStaleness(null);
    } catch (error) {
        showStaleness(error.message);
    }
    setTimeout(look, interval);
}

look();
