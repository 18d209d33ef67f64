"""report.py COUNTS   prints what load.py has counted, step by step, and fails if a request failed.

503 with Retry-After is a failure too, but while PostgreSQL's primary is switched over: then it is what the design says
(UNAVAILABLE until there is a primary again), and the client asks again."""

import json
import pathlib
import sys

allowed = {"switch_over"}
steps = json.loads(pathlib.Path(sys.argv[1]).read_text())["steps"]
form = "{:<24} {:>8} {:>7} {:>12} {:>7} {:>9} {:>13}"
print(form.format("step", "requests", "failed", "unavailable", "resent", "worst, s", "longest 503, s"))
failures = 0
for name, counts in steps.items():
    failed = counts["failed"] + (0 if name in allowed else counts["unavailable"])
    failures += failed
    away = f"{counts['longest_away']:.1f}" if counts["longest_away"] else "-"
    print(
        form.format(
            name,
            counts["requests"],
            counts["failed"],
            counts["unavailable"],
            counts["resent"],
            f"{counts['worst']:.2f}",
            away,
        )
    )
    for why in counts["why"]:
        print(f"    {why}")
total = sum(counts["requests"] for counts in steps.values())
print(f"{total} requests, {failures} failed")
sys.exit(failures > 0 or total == 0)
