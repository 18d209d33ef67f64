#!/usr/bin/env python3
"""events.py [PORT]    Follows Gatehouse's events: takes webhooks at /events, and answers GET /users/{id} with what it knows.

EVENTS_SECRETS: the one of IDENTITY_WEBHOOK_SECRETS that is this receiver's; two with a comma while it is replaced."""

import hashlib  # noqa: E401
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [each.encode() for each in os.environ["EVENTS_SECRETS"].split(",")]
SEEN, USERS = set(), {}  # In place of a database, which would keep both in one transaction.


def is_genuine(signature, body):
    match = re.fullmatch(r"t=(\d{1,12}),v1=([0-9a-f]{64})", signature or "")
    if not match or abs(time.time() - int(match[1])) > 300:  # What was overheard is no good later.
        return False
    codes = [hmac.new(each, match[1].encode() + b"." + body, hashlib.sha256).hexdigest() for each in SECRETS]
    return any([hmac.compare_digest(match[2], each) for each in codes])


class Events(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
        if self.path != "/events" or not is_genuine(self.headers.get("Gatehouse-Signature"), body):
            return self.answer(403, {})
        for event in json.loads(body)["events"]:
            if event["id"] not in SEEN:  # The same may come twice; a type that is not known here is no mistake.
                SEEN.add(event["id"])
                USERS.setdefault(event["userID"], []).append(event["type"])
        self.answer(200, {})  # Only now: what is not answered is sent again.

    def do_GET(self):
        user = self.path.removeprefix("/users/")
        self.answer(200 if user in USERS else 404, {"events": USERS.get(user, [])})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int((sys.argv + ["9100"])[1])), Events)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
