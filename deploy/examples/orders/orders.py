#!/usr/bin/env python3
"""A service of a team's own, as small as one can be: it believes the gateway about who is calling.

orders.py [PORT]    on this machine alone; 0: any free port. The port stands in the first line that it prints.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Connections are kept.

    def do_GET(self):
        user = self.headers.get("Gatehouse-User-Id")
        body = json.dumps({
            "orders": [{"id": 7, "of": user}] if user else [],
            "role": self.headers.get("Gatehouse-Role"),
            "stores": self.headers.get("Gatehouse-Store-Ids"),
            "path": self.path,
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Orders)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
