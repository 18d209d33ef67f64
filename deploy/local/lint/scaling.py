"""scaling.py [--write]: the table of docs/operations/scaling.md, computed from the figures that the services' READMEs
have measured. Compares it with the page, or writes it into it. Compares the comments of the manifests, too.
"""

import re
import sys
from math import ceil
from pathlib import Path

root = Path(__file__).resolve().parents[3]
page = root / "docs/operations/scaling.md"
DAY, HOUR = 86_400, 3_600

# What is assumed of the users. To compute with others, change these and run this with --write.
ACTIVE_A_DAY = 0.3  # of all users
VISITS = 6  # of an active user in a day, each in another hour: each refreshes once and registers the device once
VISIT_SECONDS = 60
REQUESTS = 100  # of an active user in a day
SIGN_INS = 0.01  # of the active users in a day
PEAK = 3  # times the mean of a day
SESSIONS = 1.5  # of a user
SESSIONS_ENDED = 0.02  # of an active user in a day
# And of the installation.
CORES_A_REPLICA, UTILIZATION = 2, 0.6
CONNECTIONS_A_GATEWAY = 20_000
IDLE_SECONDS = 75
ROTATIONS_A_PRIMARY = 5_000
TARGET_SIGNATURE = 200


def figures():
    """Measured: µs of CPU time, MB, GB."""
    found = {}

    def take(service, pattern, *names):
        text = " ".join((root / f"Services/{service}/README.md").read_text().split())
        match = re.search(pattern, text)
        if not match:
            sys.exit(f"scaling.py: Services/{service}/README.md has no figure of the form {pattern}")
        found.update({name: float(value.replace(",", "")) for name, value in zip(names, match.groups())})

    number = r"([\d.,]*\d)"
    take(
        "tokens",
        rf"a refresh through the gateway \| {number}"
        rf" \| gateway {number}, tokens {number}, PostgreSQL {number}, Redis {number} \|",
        "refresh", "refresh_gateway", "refresh_tokens", "refresh_postgres", "refresh_redis",
    )  # fmt: skip
    take("tokens", rf"one RS256 signature, by `openssl speed` \| {number}", "signature")
    take("tokens", rf"(?:up to )?{number} million sessions.{{0,120}}?about {number} GB", "filled_millions", "filled_gb")
    take("gateway", rf"tokens seen before: Gatehouse \| {number}", "request")
    take("gateway", rf"tokens, caches of 1,000: Gatehouse \| {number}", "request_new")
    take("gateway", rf"{number} connections that had one response each and are idle: {number} MB", "idle", "idle_mb")
    take("gateway", rf"{number} revocations:.{{0,80}}?{number} MB", "revocations", "revocations_mb")
    return found


def text(value):
    """Three digits that count."""
    if value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value, -digits):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def tables(f):
    scale = TARGET_SIGNATURE / f["signature"]
    columns = [10e6, 1000e6]
    rows = []

    def row(name, how, value, show=text):
        rows.append((name, how, [show(value(users)) for users in columns]))

    def active(users):
        return users * ACTIVE_A_DAY

    def at_peak(users, times):
        return active(users) * times / DAY * PEAK

    def refreshes(users):
        return at_peak(users, VISITS)

    def requests(users):
        return at_peak(users, REQUESTS)

    def connections(users):
        return active(users) * VISITS * (VISIT_SECONDS + IDLE_SECONDS) / DAY * PEAK

    def gateway(users):
        return (requests(users) * f["request"] + refreshes(users) * (f["refresh_gateway"] + f["request_new"])) / 1e6

    def cores(name):
        return lambda users: refreshes(users) * f[f"refresh_{name}"] / 1e6

    def replicas(cores_of):
        return lambda users: max(2, ceil(cores_of(users) / UTILIZATION / CORES_A_REPLICA))

    def whole(value):
        return f"{value:,.0f}"

    row("users active in a day", f"{ACTIVE_A_DAY} of all", active)
    row("refreshes a second", f"active × {VISITS} visits ÷ {DAY:,} s × {PEAK} (peak)", refreshes)
    row("requests a second to your services", f"active × {REQUESTS} ÷ {DAY:,} s × {PEAK}", requests)
    row("sign-ins a second", f"active × {SIGN_INS} ÷ {DAY:,} s × {PEAK}", lambda users: at_peak(users, SIGN_INS))
    row("device registrations a second", "one a visit", refreshes)
    row(
        "open connections",
        f"active × {VISITS} × ({VISIT_SECONDS} s + {IDLE_SECONDS} s idle) ÷ {DAY:,} s × {PEAK}",
        connections,
    )
    row(
        "gateway, cores",
        f"requests × {f['request']:g} µs"
        f" + refreshes × ({f['refresh_gateway']:g} + {f['request_new']:g} µs: a new token)",
        gateway,
    )
    row(
        "gateway, memory for connections, GB",
        f"{f['idle_mb']:g} MB for {f['idle']:,.0f}",
        lambda users: connections(users) / f["idle"] * f["idle_mb"] / 1000,
    )
    row(
        "**gateway, replicas**",
        f"the larger of cores ÷ {UTILIZATION} ÷ {CORES_A_REPLICA} and connections ÷ {CONNECTIONS_A_GATEWAY:,}",
        lambda users: max(replicas(gateway)(users), ceil(connections(users) / CONNECTIONS_A_GATEWAY)),
        whole,
    )
    row("tokens, cores", f"refreshes × {f['refresh_tokens']:g} µs", cores("tokens"))
    row(
        "the same where RS256 signs in 200 µs",
        f"× {TARGET_SIGNATURE} ÷ {f['signature']:g}",
        lambda users: cores("tokens")(users) * scale,
    )
    row("**tokens, replicas**", f"cores ÷ {UTILIZATION} ÷ {CORES_A_REPLICA}", replicas(cores("tokens")), whole)
    row("PostgreSQL of tokens, cores", f"refreshes × {f['refresh_postgres']:g} µs", cores("postgres"))
    row(
        "PostgreSQL of tokens, GB",
        f"users × {SESSIONS} sessions × {f['filled_gb']:g} GB ÷ {f['filled_millions']:g} million",
        lambda users: users * SESSIONS * f["filled_gb"] / (f["filled_millions"] * 1e6),
    )
    row(
        "**primaries of tokens**",
        f"refreshes ÷ {ROTATIONS_A_PRIMARY:,} synchronous commits a second",
        lambda users: ceil(refreshes(users) / ROTATIONS_A_PRIMARY),
        whole,
    )
    row("Redis for race locks, cores", f"refreshes × {f['refresh_redis']:g} µs; a Redis uses one", cores("redis"))
    row(
        "revoked sessions that a gateway remembers",
        f"active × {SESSIONS_ENDED} ÷ {DAY:,} s × {HOUR:,} s × {PEAK}",
        lambda users: active(users) * SESSIONS_ENDED / DAY * HOUR * PEAK,
    )
    row(
        "their memory in each gateway, MB",
        f"{f['revocations_mb']:g} MB for {f['revocations']:,.0f}",
        lambda users: active(users) * SESSIONS_ENDED / DAY * HOUR * PEAK / f["revocations"] * f["revocations_mb"],
    )
    lines = ["| at the peak of a day | from | 10 million users | 1,000 million |", "|---|---|---|---|"]
    lines += [f"| {name} | {how} | {first} | {second} |" for name, how, (first, second) in rows]
    return "\n".join(lines)


def quoted(f):
    """What the comments of the manifests say of these figures."""
    return {
        "gateway": [
            f"{f['request']:.0f} µs", f"{f['request_new']:.0f} µs", f"{f['idle']:,.0f} idle connections",
            f"take {f['idle_mb']:.0f} MB", f"{f['revocations']:,.0f} revoked sessions take {f['revocations_mb']:.0f} MB",
        ],
        "tokens": [f"{f['refresh_tokens'] / 1000:.1f} ms", f"{f['signature'] / 1000:.1f} of it the RS256 signature"],
    }  # fmt: skip


def check_comments(f):
    for service, texts in quoted(f).items():
        file = f"deploy/kubernetes/base/{service}/deployment.yaml"
        comments = " ".join((root / file).read_text().replace("#", " ").split())
        for each in texts:
            if each not in comments:
                sys.exit(f"{file} should say “{each}”, as Services/{service}/README.md has it")


def main():
    measured = figures()
    check_comments(measured)
    mark = "<!-- computed by deploy/local/lint/scaling.py -->\n"
    before, _, rest = page.read_text().partition(mark)
    after = rest.split("\n\n", 1)[1]
    wanted = before + mark + tables(measured) + "\n\n" + after
    if "--write" in sys.argv:
        page.write_text(wanted)
    elif wanted != page.read_text():
        name = page.relative_to(root)
        sys.exit(f"{name} is not what the READMEs' figures give: python3 deploy/local/lint/scaling.py --write")


main()
