"""observability.py lint | expressions | scraped FILE…

lint      compares rules, their tests, dashboards and docs/operations/alerts with the sources: every metric, label and
          label value that they name exists; every log message that a page names exists; every alert has a section in
          the page of its rule file, a test in which it fires and one in which it does not; every section has an alert.
expressions
          prints the expressions of dashboards and pages as a file of recording rules, for `promtool check rules`.
scraped   holds the sources, as this script reads them, to what running services print: a metric that is in the text of
          FILE (from /metrics) and not among those found in the sources is an error.
"""

import json
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[3]
observability = root / "deploy" / "observability"
alert_pages = root / "docs" / "operations" / "alerts"

# Made by Prometheus itself.
PROMETHEUS_OWN = {"up", "ALERTS"}
TARGET_LABELS = {"job", "instance", "le"}
# What PrometheusMetrics.swift makes of each kind of Shared/Instruments, and how a name of it ends.
KINDS = {"Counter": ("counter", "_total"), "Gauge": ("gauge", ""), "DurationHistogram": ("histogram", "_seconds")}
# Labels whose values are words of the code's own. The others come from routes, addresses and statuses.
WORDS = {"outcome", "result", "reason", "code", "state", "table", "limit"}

problems = []


def problem(place, text):
    place = place.relative_to(root) if isinstance(place, Path) else place
    problems.append(f"{place}: {text}")


def swift_files():
    for folder in ("Services", "Shared"):
        for file in sorted((root / folder).rglob("*.swift")):
            yield file, file.read_text()


def call(text, start):
    """The text of a call from the bracket at or after start to the one that closes it."""
    depth = 0
    for index in range(text.index("(", start), len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return text[start : index + 1]
    return text[start:]


def declared_metrics():
    """Name → (type, labels), as the sources declare them."""
    metrics = {}
    declaration = re.compile(r"\b(" + "|".join(KINDS) + r')\(\s*(?:"([^"]+)"|(\w+)),\s*help:')
    for file, text in swift_files():
        for match in declaration.finditer(text):
            kind, label, variable = match.groups()
            before = text[: match.start()]
            if variable:
                values = re.findall(rf'let {variable} = "([^"]+)"', before)
                if not values:
                    problem(file, f"the name of a metric is no text: {variable}")
                    continue
                label = values[-1]
            arguments = call(text, match.start())
            named = re.search(r"labels: (\w+)", arguments)
            if named:
                lists = re.findall(rf"let {named[1]} = (\[.*\])", before)
                if not lists:
                    problem(file, f"the labels of {label} cannot be read: labels: {named[1]}")
                    continue
                arguments += lists[-1]
            kind, suffix = KINDS[kind]
            name = label
            if not name.endswith(suffix):
                problem(file, f"{name} is a {kind}, and does not end with {suffix}")
            labels = set(re.findall(r'\("(\w+)", ', arguments))
            if name in metrics and metrics[name] != (kind, labels):
                problem(file, f"{name} is declared elsewhere as another kind or with other labels")
            metrics[name] = (kind, labels)
        for name, kind in re.findall(r'\badd\(\s*"(process_\w+)", "(\w+)"', text):
            metrics[name] = (kind, set())
    return metrics


def series_of(metrics):
    """Name of each time series → labels."""
    series = {}
    for name, (kind, labels) in metrics.items():
        endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        for ending in endings:
            series[name + ending] = labels
    return series


STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
MATCHER = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*\x00(\d+)\x00")
WORDS_OF_PROMQL = {"and", "or", "unless", "bool", "offset", "inf", "nan"}


def selectors(expression):
    """(metric, [(label, operator, value)]) for each selector of a PromQL expression."""
    strings = []

    def keep(match):
        strings.append(match[0][1:-1])
        return f"\x00{len(strings) - 1}\x00"

    text = STRING.sub(keep, expression.replace("$__rate_interval", "5m"))
    text = re.sub(r"#.*", "", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    text = re.sub(r"\[[^\]]*\]", " ", text)
    text = re.sub(r"\boffset\s+\w+", " ", text)
    for match in re.finditer(r"(?<![\w.:])([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?", text):
        name, after = match[1], match[2] or ""
        if after == "(" or name.lower() in WORDS_OF_PROMQL:
            continue
        matchers = [(label, operator, strings[int(value)]) for label, operator, value in MATCHER.findall(after)]
        yield name, matchers


class Checker:
    def __init__(self):
        import yaml

        # The one in C, where it is there, takes a tenth of the time.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.read = lambda file: yaml.load(file.read_text(), loader)
        self.metrics = declared_metrics()
        self.series = series_of(self.metrics)
        self.sources = "\n".join(text for _, text in swift_files())
        self.words = set(re.findall(r'"([^"\\\n]*)"', self.sources))
        self.words |= {name for names in re.findall(r"\bcase ([\w, ]+)", self.sources) for name in names.split(", ")}
        # Of the gateway, and of the services' internal routes.
        self.routes = set(re.findall(r'"(/[\w/.{}-]+)"', self.sources))
        self.routes |= {"/internal" + route for route in self.routes}
        self.rules, self.alerts, self.recorded = [], {}, set()
        for file in sorted((observability / "rules").glob("*.yml")):
            for group in self.read(file)["groups"]:
                for rule in group["rules"]:
                    self.rules.append((file, rule))
                    if "alert" in rule:
                        if rule["alert"] in self.alerts:
                            problem(file, f"{rule['alert']} is there twice")
                        self.alerts[rule["alert"]] = (file, rule)
                    else:
                        self.recorded.add(rule["record"])

    def check_expression(self, place, expression):
        for name, matchers in selectors(expression):
            if name in PROMETHEUS_OWN:
                continue
            if name in self.recorded:
                labels = None
            elif name in self.series:
                labels = self.series[name] | TARGET_LABELS
            else:
                problem(place, f"no service makes the metric {name}")
                continue
            for label, _, value in matchers:
                if labels is not None and label not in labels:
                    problem(place, f"{name} has no label {label}")
                if label == "route" and value.startswith("/"):
                    for route in re.split(r"\|(?![^(]*\))", value):
                        if not any(re.fullmatch(route, known) for known in self.routes):
                            problem(place, f"no service has the route {route}")
                if label in WORDS:
                    for word in value.split("|"):
                        if word and not self.is_word(word):
                            problem(place, f"{label}={word!r} is no word of the sources")

    def is_word(self, word):
        """Whether the code has it as a text or as a case of an enumeration."""
        return word in self.words

    def check_rules(self):
        for file, rule in self.rules:
            self.check_expression(file, rule["expr"])
        for name, (file, rule) in self.alerts.items():
            notes = rule.get("annotations", {})
            for key in ("summary", "description", "runbook_url"):
                if not notes.get(key):
                    problem(file, f"{name} has no {key}")
            if not notes.get("runbook_url", "").endswith(f"/docs/operations/alerts/{file.stem}.md#{name.lower()}"):
                problem(file, f"the runbook_url of {name} leads elsewhere")
            if rule.get("labels", {}).get("severity") not in ("critical", "warning"):
                problem(file, f"{name} is neither critical nor warning")

    def check_tests(self):
        fires, rests = set(), set()
        for file in sorted((observability / "tests").glob("*.yml")):
            for test in self.read(file)["tests"]:
                for series in test["input_series"]:
                    self.check_expression(file, series["series"])
                for case in test["promql_expr_test"]:
                    samples = case.get("exp_samples", [])
                    named = set(re.findall(r'alertname="(\w+)"', case["expr"]))
                    shown = {name for sample in samples for name in re.findall(r'alertname="(\w+)"', sample["labels"])}
                    for name in (named | shown) - set(self.alerts):
                        problem(file, f"there is no alert {name}")
                    fires |= shown
                    if not samples:
                        rests |= named
        for name, (file, _) in self.alerts.items():
            if name not in fires:
                problem(file, f"{name} fires in no test")
            if name not in rests:
                problem(file, f"no test shows that {name} stays silent")

    def check_alert_pages(self):
        sections = {
            (page.stem, name)
            for page in alert_pages.glob("*.md")
            for name in re.findall(r"^## (Gatehouse\w+)$", page.read_text(), re.MULTILINE)
        }
        alerts = {(file.stem, name) for name, (file, _) in self.alerts.items()}
        for page, name in alerts - sections:
            problem(alert_pages / f"{page}.md", f"has no section {name}")
        for page, name in sections - alerts:
            problem(alert_pages / f"{page}.md", f"{page}.yml has no alert {name}")
        prefixes = {name.split("_")[0] for name in self.series} - {"http"} | {"http_server"}
        own = re.compile(r"\b(?:" + "|".join(sorted(prefixes)) + r")_[a-z0-9_]+\b")
        for page in sorted(alert_pages.glob("*.md")):
            text = page.read_text()
            for query in queries(text):
                self.check_expression(page, query)
            prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
            for name in set(own.findall(prose)):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                if name not in self.series and base not in self.metrics and not self.is_word(name):
                    problem(page, f"no service makes the metric {name}")
            for name in set(re.findall(r"gatehouse:[a-z0-9_:]+", text)) - self.recorded:
                problem(page, f"no rule records {name}")
            for message in re.findall(r"^- Log[^`]*`([^`]+)`", text, re.MULTILINE):
                if f'"{message}"' not in self.sources:
                    problem(page, f"no service logs {message!r}")

    def check_dashboards(self):
        for file in sorted((observability / "grafana" / "dashboards").glob("*.json")):
            for title, expression in of_panels(json.loads(file.read_text())):
                self.check_expression(f"{file.relative_to(root)}: {title}", expression)


def queries(page):
    """Those of a page: one a paragraph."""
    for block in re.findall(r"```promql\n(.*?)```", page, re.DOTALL):
        yield from block.strip().split("\n\n")


def of_panels(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def expressions():
    found = [query for page in sorted(alert_pages.glob("*.md")) for query in queries(page.read_text())]
    for file in sorted((observability / "grafana" / "dashboards").glob("*.json")):
        found += [expression for _, expression in of_panels(json.loads(file.read_text()))]
    rules = [
        {"record": "check", "expr": expression.replace("$__rate_interval", "5m"), "labels": {"number": str(number)}}
        for number, expression in enumerate(found)
    ]
    # JSON is YAML.
    return json.dumps({"groups": [{"name": "expressions", "rules": rules}]}, indent=1)


def lint():
    checker = Checker()
    checker.check_rules()
    checker.check_tests()
    checker.check_alert_pages()
    checker.check_dashboards()
    return (
        f"{len(checker.metrics)} metrics, {len(checker.recorded)} recording rules, {len(checker.alerts)} alerts, "
        f"{len(list(alert_pages.glob('*.md')))} pages"
    )


def scraped(files):
    metrics = declared_metrics()
    names = set()
    for file in map(Path, files):
        text = file.read_text()
        for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
            names.add(name)
            if name not in metrics:
                problem(
                    str(file), f"{name} is not found in the sources: teach observability.py to read its declaration"
                )
            elif metrics[name][0] != kind:
                problem(str(file), f"{name} is a {kind}, and a {metrics[name][0]} in the sources")
        series = series_of(metrics)
        for name, labels in re.findall(r"^(\w+)\{(.*)\} ", text, re.MULTILINE):
            for label in re.findall(r'(?:^|,)(\w+)="', labels):
                if name in series and label not in series[name] | {"le"}:
                    problem(str(file), f"{name} has the label {label}, which is not found in the sources")
    return f"{len(names)} metrics of {len(metrics)} seen, all of them in the sources"


def main():
    command, *files = sys.argv[1:] or [""]
    if command == "lint":
        result = lint()
    elif command == "expressions":
        result = expressions()
    elif command == "scraped" and files:
        result = scraped(files)
    else:
        sys.exit(__doc__)
    for line in sorted(set(problems)):
        print(line, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(result)


main()
