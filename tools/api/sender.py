"""sender.py FOLDER   takes what identity sends to IDENTITY_RESET_HOOK_URL, and keeps the last token in FOLDER/token.
Its port is in FOLDER/port.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

folder = Path(sys.argv[1])


class Sender(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (folder / "token.new").write_text(message["token"])
        (folder / "token.new").rename(folder / "token")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


folder.mkdir(parents=True, exist_ok=True)
server = HTTPServer(("127.0.0.1", 0), Sender)
(folder / "port").write_text(str(server.server_port))
server.serve_forever()
