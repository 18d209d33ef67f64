"""hostile.py FILE   a replica whose every answer is markup; its port is written to FILE."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MARKUP = "<img src=x onerror=run()><script>run()</script>"


class Replica(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"status": "ready", "version": MARKUP, "revision": '"><b>bold</b>'}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Server", MARKUP)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Replica)
    file = Path(sys.argv[1])
    file.with_suffix(".new").write_text(str(server.server_port))
    file.with_suffix(".new").rename(file)
    server.serve_forever()


if __name__ == "__main__":
    main()
