"""complete.py DESCRIPTION SENT…   fails where schemathesis sent no request for an operation of DESCRIPTION, or no OPTIONS
for a path of it. SENT: the files in which described.py wrote what was sent.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import openapi

description, *files = map(Path, sys.argv[1:])
document = json.loads(description.read_text())
expected = {f"{method.upper()} {path}" for path, method, _ in openapi.operations(document)}
expected |= {f"OPTIONS {path}" for path in document["paths"]}
sent = {line for file in files for line in file.read_text().splitlines()}
missing = sorted(expected - sent)
for request in missing:
    print(f"{description.name}: schemathesis never sent {request}", file=sys.stderr)
if missing:
    sys.exit(f"{description.name}: {len(missing)} of {len(expected)} requests are missing")
print(f"{description.name}: each operation and OPTIONS of each path were sent, {len(expected)} in all")
