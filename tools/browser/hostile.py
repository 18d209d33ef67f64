"""hostile.py PORT   a replica whose every answer is markup."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARKUP = "<img src=x onerror=run()><script>run()</script>"


class Replica(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"status": "ready", "version": MARKUP, "revision": '"><b>bold</b>'}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Replica).serve_forever()
