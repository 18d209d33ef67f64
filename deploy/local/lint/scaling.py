"""scaling.py [--write]: the tables of docs/operations/scaling.md and sharding.md, computed from the figures that the
services' READMEs have measured. Compares them with the pages, or writes them into these. Compares the comments of the
manifests, too.
"""

import re
import sys
from math import ceil
from pathlib import Path

root = Path(__file__).resolve().parents[3]
pages = root / "docs/operations"
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
PRIMARIES = [16, 32]  # of tokens, beside the fewest that do
TARGET_SIGNATURE = 200


def figures():
    """Measured: µs of CPU time, MB, GB. And what the source has: connections, ms."""
    found = {}

    def take(file, pattern, *names):
        file = file if "/" in file else f"Services/{file}/README.md"
        text = " ".join((root / file).read_text().split())
        match = re.search(pattern, text)
        if not match:
            sys.exit(f"scaling.py: {file} has no figure of the form {pattern}")
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
    three = rf"gateway {number}, identity {number}, tokens {number}"
    take("identity", rf"a password login \| {number} \| {three}", "login", "_", "login_identity", "_")
    take("identity", rf"a sign-in with Apple \| {number} \| {three}", "_", "_", "apple_identity", "_")
    two = rf"{number} \| gateway {number}, devices {number}, PostgreSQL {number}"
    take("devices", rf"a device's first registration \| {two}", "_", "_", "first_devices", "first_postgres")
    take("devices", rf"the same again, unchanged \| {two}", "_", "_", "again_devices", "again_postgres")
    for name in ("identity", "devices"):
        take(name, rf"rivate memory: {number} MB idle, {number} MB under load", f"{name}_idle_mb", f"{name}_loaded_mb")
    take("gateway", rf"tokens seen before: Gatehouse \| {number}", "request")
    take("gateway", rf"tokens, caches of 1,000: Gatehouse \| {number}", "request_new")
    take("gateway", rf"{number} connections that had one response each and are idle: {number} MB", "idle", "idle_mb")
    take("gateway", rf"{number} revocations:.{{0,80}}?{number} MB", "revocations", "revocations_mb")
    take("Shared/Postgres/Pool/PostgresPool.swift", rf"maximumConnections = {number}", "pool")
    feed = "Services/tokens/Sources/Revocation/RevocationFeed.swift"
    take(feed, rf"pollInterval: Duration = \.milliseconds\({number}\)", "poll")
    return found


def text(value):
    """Three digits that count."""
    if value >= 100:
        digits = max(0, len(str(int(value))) - 3)
        return f"{round(value, -digits):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


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


def whole(value):
    return f"{value:,.0f}"


def cores(f, name):
    return lambda users: refreshes(users) * f[f"refresh_{name}"] / 1e6


def gateway_cores(f):
    new = f["refresh_gateway"] + f["request_new"]
    return lambda users: (requests(users) * f["request"] + refreshes(users) * new) / 1e6


def identity_cores(f):
    return lambda users: at_peak(users, SIGN_INS) * f["login_identity"] / 1e6


def devices_cores(f):
    return lambda users: refreshes(users) * f["again_devices"] / 1e6


def replicas(cores_of):
    return lambda users: max(2, ceil(cores_of(users) / UTILIZATION / CORES_A_REPLICA))


def gateways(f):
    return lambda users: max(replicas(gateway_cores(f))(users), ceil(connections(users) / CONNECTIONS_A_GATEWAY))


def gigabytes(f):
    return lambda users: users * SESSIONS * f["filled_gb"] / (f["filled_millions"] * 1e6)


def primaries(users):
    return ceil(refreshes(users) / ROTATIONS_A_PRIMARY)


def polls(f):
    return lambda users: gateways(f)(users) / (f["poll"] / 1000)


class Table:
    """In Markdown, with a value for each of the columns."""

    def __init__(self, head, columns):
        self.columns = columns
        self.lines = [head, "|---" * (head.count("|") - 1) + "|"]

    def row(self, name, how, value, show=text):
        values = " | ".join(show(value(column)) for column in self.columns)
        self.lines.append(f"| {name} | {how} | {values} |")

    def __str__(self):
        return "\n".join(self.lines)


def of_users(f):
    """For scaling.md."""
    scale = TARGET_SIGNATURE / f["signature"]
    table = Table("| at the peak of a day | from | 10 million users | 1,000 million |", [10e6, 1000e6])
    row = table.row
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
        gateway_cores(f),
    )
    row(
        "gateway, memory for connections, GB",
        f"{f['idle_mb']:g} MB for {f['idle']:,.0f}",
        lambda users: connections(users) / f["idle"] * f["idle_mb"] / 1000,
    )
    row(
        "**gateway, replicas**",
        f"the larger of cores ÷ {UTILIZATION} ÷ {CORES_A_REPLICA} and connections ÷ {CONNECTIONS_A_GATEWAY:,}",
        gateways(f),
        whole,
    )
    row("tokens, cores", f"refreshes × {f['refresh_tokens']:g} µs", cores(f, "tokens"))
    row(
        "the same where RS256 signs in 200 µs",
        f"× {TARGET_SIGNATURE} ÷ {f['signature']:g}",
        lambda users: cores(f, "tokens")(users) * scale,
    )
    row("**tokens, replicas**", f"cores ÷ {UTILIZATION} ÷ {CORES_A_REPLICA}", replicas(cores(f, "tokens")), whole)
    row("PostgreSQL of tokens, cores", f"refreshes × {f['refresh_postgres']:g} µs", cores(f, "postgres"))
    row(
        "PostgreSQL of tokens, GB",
        f"users × {SESSIONS} sessions × {f['filled_gb']:g} GB ÷ {f['filled_millions']:g} million",
        gigabytes(f),
    )
    row(
        "**primaries of tokens**",
        f"refreshes ÷ {ROTATIONS_A_PRIMARY:,} synchronous commits a second",
        primaries,
        whole,
    )
    row("queries of the revocation feed a second", f"gateways ÷ {f['poll']:g} ms", polls(f))
    of_replicas = f"cores ÷ {UTILIZATION} ÷ {CORES_A_REPLICA}"
    row("identity, cores", f"sign-ins × {f['login_identity']:,.0f} µs: a password's hash", identity_cores(f))
    row("**identity, replicas**", of_replicas, replicas(identity_cores(f)), whole)
    row("devices, cores", f"registrations × {f['again_devices']:g} µs: unchanged", devices_cores(f))
    row("**devices, replicas**", of_replicas, replicas(devices_cores(f)), whole)
    row(
        "PostgreSQL of devices, cores",
        f"registrations × {f['again_postgres']:g} µs",
        lambda users: refreshes(users) * f["again_postgres"] / 1e6,
    )
    row(
        "its writes a second",
        f"active ÷ {DAY:,} s × {PEAK}: `updatedAt`, once a day; the other registrations are look-ups",
        lambda users: at_peak(users, 1),
    )
    services = {"tokens": cores(f, "tokens"), "identity": identity_cores(f), "devices": devices_cores(f)}
    for name, cores_of in services.items():
        row(
            f"connections to PostgreSQL of {name}",
            f"replicas × {f['pool']:g}",
            lambda users, needed=replicas(cores_of): needed(users) * f["pool"],
            whole,
        )
    row("Redis for race locks, cores", f"refreshes × {f['refresh_redis']:g} µs; a Redis uses one", cores(f, "redis"))
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
    return table


def of_primaries(f):
    """For sharding.md: what each of several primaries of tokens has to do for 1,000 million users."""
    users = 1000e6
    columns = [primaries(users), *PRIMARIES]
    table = Table(f"| for each of | from | {' | '.join(f'{count} primaries' for count in columns)} |", columns)
    tokens = replicas(cores(f, "tokens"))(users)

    def share(value):
        return lambda count: value / count

    table.row("refreshes a second", f"{text(refreshes(users))} at the peak of a day", share(refreshes(users)))
    table.row(
        "of the commits that it can make, %", f"of {ROTATIONS_A_PRIMARY:,}",
        share(refreshes(users) / ROTATIONS_A_PRIMARY * 100), whole,
    )  # fmt: skip
    table.row("sessions, million", f"{text(users * SESSIONS / 1e6)}", share(users * SESSIONS / 1e6))
    table.row("GB", text(gigabytes(f)(users)), share(gigabytes(f)(users)))
    table.row("PostgreSQL, cores for refreshes", text(cores(f, "postgres")(users)), share(cores(f, "postgres")(users)))
    table.row("Redis for race locks, cores", text(cores(f, "redis")(users)), share(cores(f, "redis")(users)))
    table.row(
        "connections, a pool of today for each primary", f"{tokens} replicas of tokens × {f['pool']:g}",
        lambda count: tokens * f["pool"], whole,
    )  # fmt: skip
    table.row(
        "those of a replica of tokens", f"{f['pool']:g} × primaries", lambda count: f["pool"] * count, whole
    )  # fmt: skip
    table.row(
        "queries of the feed a second, each reader for itself", f"{gateways(f)(users)} gateways ÷ {f['poll']:g} ms",
        lambda count: polls(f)(users),
    )  # fmt: skip
    table.row(
        "the same, one for all readers of a replica", f"{tokens} replicas of tokens ÷ {f['poll']:g} ms",
        lambda count: tokens / (f["poll"] / 1000),
    )  # fmt: skip
    return table


def quoted(f):
    """What the comments of the manifests say of these figures."""
    return {
        "gateway": [
            f"{f['request']:.0f} µs", f"{f['request_new']:.0f} µs", f"{f['idle']:,.0f} idle connections",
            f"take {f['idle_mb']:.0f} MB", f"{f['revocations']:,.0f} revoked sessions take {f['revocations_mb']:.0f} MB",
        ],
        "identity": [
            f"{f['login'] / 1000:.0f} ms", f"{f['login_identity'] / 1000:.0f} of it in identity",
            f"{f['apple_identity'] / 1000:.1f} ms", f"{f['identity_idle_mb']:.0f} MB idle",
            f"{f['identity_loaded_mb']:.0f} MB under load",
        ],
        "devices": [
            f"{f['first_devices'] / 1000:.2f} ms", f"{f['again_devices'] / 1000:.2f} ms",
            f"{f['devices_idle_mb']:.0f} MB idle", f"{f['devices_loaded_mb']:.0f} MB under load",
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
    for name, table in (("scaling.md", of_users(measured)), ("sharding.md", of_primaries(measured))):
        page = pages / name
        before, _, rest = page.read_text().partition(mark)
        after = rest.split("\n\n", 1)[1]
        wanted = f"{before}{mark}{table}\n\n{after}"
        if "--write" in sys.argv:
            page.write_text(wanted)
        elif wanted != page.read_text():
            place = page.relative_to(root)
            sys.exit(f"{place} is not what the READMEs' figures give: python3 deploy/local/lint/scaling.py --write")


main()
