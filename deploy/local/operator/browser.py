"""A headless Chromium that is told what to do by the DevTools protocol, over a pair of pipes."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Failed(Exception):
    """The browser refused a command, or something did not come true in time."""


class Browser:
    """One window. What the page asks for, and what the browser complains of, is kept in `requests` and `complaints`."""

    def __init__(self, width=1200, height=1000):
        self.profile = tempfile.TemporaryDirectory()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()
        self.process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "_"),
                *("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
                *("--no-first-run", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe"),
                *(f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}", "about:blank"),
            ],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.number, self.buffer, self.session = 0, b"", None
        self.requests, self.complaints = [], []
        pages = self.command("Target.getTargets")["targetInfos"]
        page = next(page for page in pages if page["type"] == "page")
        self.session = self.command("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def command(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(30)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, patience):
        """The next message. Events are noted on the way."""
        deadline = time.monotonic() + patience
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.from_browser, 1 << 20) if ready else b""
            if not data:
                raise Failed("the browser does not answer")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, event):
        if method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(event["entry"]["text"] + " " + event["entry"].get("url", ""))
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))

    def open(self, address):
        self.requests, self.complaints = [], []
        error = self.command("Page.navigate", url=address).get("errorText")
        if error:
            raise Failed(f"{address}: {error}")
        self.wait(f"{address} is loaded", "document.readyState === 'complete'")

    def value(self, expression):
        """What an expression in the page is worth."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Failed(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait(self, what, expression, seconds=20):
        deadline = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise Failed(f"{what}: not within {seconds} s")
            time.sleep(0.1)

    def scheme(self, name):
        """`light` or `dark`."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, file):
        image = self.command("Page.captureScreenshot", format="png")["data"]
        file.write_bytes(base64.b64decode(image))
