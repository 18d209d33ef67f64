#!/usr/bin/env python3
"""orders.py [PORT]    The example service without a library. ORDERS_GATEWAY_CREDENTIALS: one, or two with a comma."""

import hmac  # noqa: E401
import json
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

CREDENTIALS = [each.encode() for each in os.environ["ORDERS_GATEWAY_CREDENTIALS"].split(",")]
KNOWN, WORKERS = {"7"}, ThreadPoolExecutor(64)  # In place of a database, and of connections to it.


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept.

    def do_GET(self):
        if "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # An unread body would be taken for the next request.
        presented, user = self.field("Credential").encode("latin-1"), self.field("User-Id")
        if not any([hmac.compare_digest(presented, each) for each in CREDENTIALS]) or not user:
            return self.problem(401, "INVALID_TOKEN", "Please sign in.", {"WWW-Authenticate": "Bearer"})
        seconds = int(self.field("Deadline-Ms") or 10_000) / 1000
        if seconds <= 0:  # The caller no longer waits: do nothing.
            return self.problem(503, "UNAVAILABLE", "Please try again in a moment.", {"Retry-After": "1"})
        try:
            order = self.path.partition("?")[0].removeprefix("/v1/orders/")
            if not WORKERS.submit(KNOWN.__contains__, order).result(timeout=seconds):
                return self.problem(404, "NOT_FOUND", "There is nothing here.", {})
        except TimeoutError:
            return self.problem(504, "TIMEOUT", "This took too long.", {})
        except Exception:  # The log has the reason, the user has not.
            logging.exception("orders")
            return self.problem(500, "INTERNAL", "Something went wrong. Please try again.", {})
        stores = [unquote(each) for each in self.field("Store-Ids").split(",") if each]
        self.answer(200, {"id": int(order), "of": user, "role": self.field("Role"), "stores": stores}, {})

    def field(self, name):
        return self.headers.get("Gatehouse-" + name, "")

    def problem(self, status, code, detail, fields):  # RFC 9457
        title, request = HTTPStatus(status).phrase, self.field("Request-Id")
        value = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
        self.answer(status, value | {"requestId": request}, {"Content-Type": "application/problem+json", **fields})

    def answer(self, status, value, fields):
        body = json.dumps(value).encode()
        self.send_response(status)
        for field in ({"Content-Type": "application/json", "Content-Length": len(body)} | fields).items():
            self.send_header(*map(str, field))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int((sys.argv + ["9000"])[1])), Orders)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
