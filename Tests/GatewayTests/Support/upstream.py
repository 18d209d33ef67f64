#!/usr/bin/env python3
"""Answers every GET with 200, on a free port that its first line tells."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept.

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
