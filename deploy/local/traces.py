"""traces.py PORT   takes traces as OTLP over HTTP in JSON, and prints each as a tree once it is quiet: a collector for one
machine. Nothing is kept.

A line is a span: the service, the name below that of the parent, milliseconds from the trace's beginning, milliseconds
that it took, and what it says of itself. `!` marks an error.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

# A service sends what it has every second.
QUIET = 2.0
MOST_BYTES = 16 << 20
TOLD = ["http.response.status_code", "db.system.name", "url.template", "error.type"]
ERROR = 2

# By trace: spans by their id (a batch may come twice), and when the last one came.
spans, heard = {}, {}


def attributes(entries):
    return {entry["key"]: str(next(iter(entry["value"].values()), "")) for entry in entries}


def take(document):
    found = []
    for resource in document["resourceSpans"]:
        service = attributes(resource.get("resource", {}).get("attributes", [])).get("service.name", "?")
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            error = span.get("status", {}).get("code") in (ERROR, "STATUS_CODE_ERROR")
            known = attributes(span.get("attributes", []))
            parent = span.get("parentSpanId") or None
            found.append((span["traceId"], span["spanId"], parent, service, span["name"], start, end, error, known))
    # All of a batch or nothing.
    for trace, identifier, *rest in found:
        spans.setdefault(trace, {})[identifier] = rest
        heard[trace] = time.monotonic()


def show(trace):
    tree = spans.pop(trace)
    del heard[trace]
    children = {}
    for identifier, (parent, *_) in tree.items():
        children.setdefault(parent if parent in tree else None, []).append(identifier)
    begin, end = min(span[3] for span in tree.values()), max(span[4] for span in tree.values())
    rows = []

    def walk(identifier, depth):
        _, service, name, start, ended, error, known = tree[identifier]
        # An error may be of the type of its status.
        told = list(dict.fromkeys(known[key] for key in TOLD if key in known))
        rows.append((service, "  " * depth + name, (start - begin) / 1e6, (ended - start) / 1e6, "!" * error, told))
        for child in sorted(children.get(identifier, []), key=lambda each: tree[each][3]):
            walk(child, depth + 1)

    for root in sorted(children[None], key=lambda each: tree[each][3]):
        walk(root, 0)
    requests = {span[6]["gatehouse.request_id"] for span in tree.values() if "gatehouse.request_id" in span[6]}
    print(f"\n{(end - begin) / 1e6:.1f} ms, trace {trace}", *(f"request {each}" for each in sorted(requests)), sep=", ")
    services, names = (max(len(row[column]) for row in rows) for column in (0, 1))
    for service, name, start, took, error, told in rows:
        line = f"{service:{services}}  {name:{names}}  {start:8.1f} {took:8.1f}  {' '.join([*error, *told])}"
        print(line.rstrip())
    sys.stdout.flush()


class Receiver(BaseHTTPRequestHandler):
    timeout = 5

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MOST_BYTES:
            return self.answer(413, f"with a Content-Length of up to {MOST_BYTES}")
        body = self.rfile.read(length)
        if self.path != "/v1/traces":
            return self.answer(404, "there is /v1/traces alone")
        if self.headers.get_content_type() != "application/json":
            return self.answer(415, "JSON alone is read: set the exporter's protocol to http/json")
        try:
            take(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self.answer(400, f"cannot be read: {error!r}")
        self.answer(200)

    def answer(self, status, message=None):
        body = json.dumps({"message": message} if message else {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Printed are traces alone."""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    server.timeout = 0.2
    try:
        while True:
            server.handle_request()
            for trace in [trace for trace, last in heard.items() if time.monotonic() - last >= QUIET]:
                show(trace)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
