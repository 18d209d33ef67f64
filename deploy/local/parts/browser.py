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


# Key → what the protocol calls it, its number, and the text that it types.
KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Space": (" ", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
}
SHIFT, CONTROL = 8, 2


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
        self.requests, self.complaints, self.answers = [], [], {}
        pages = self.command("Target.getTargets")["targetInfos"]
        page = next(page for page in pages if page["type"] == "page")
        self.session = self.command("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def tell(self, method, **parameters):
        """Waits for no answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        return self.number

    def command(self, method, **parameters):
        number = self.tell(method, **parameters)
        while True:
            answer = self.receive(30)
            if answer.get("id") == number:
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
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            said = [str(each.get("value", each.get("description", ""))) for each in event["args"]]
            self.complaints.append(" ".join(said))
        elif method == "Fetch.requestPaused":
            self.answer(event["requestId"], event["request"]["url"])

    def answer(self, request, url):
        """In the server's place, as `pretend` says."""
        part = next((part for part in self.answers if part in url), None)
        if part is None:
            return self.tell("Fetch.continueRequest", requestId=request)
        status, fields, body = self.answers[part]
        headers = [{"name": name, "value": value} for name, value in fields.items()]
        content = base64.b64encode(body.encode()).decode()
        self.tell("Fetch.fulfillRequest", requestId=request, responseCode=status, responseHeaders=headers, body=content)

    def pretend(self, answers):
        """Requests whose address has a key of `answers` in it get its (status, fields, body), and no server is asked.
        Without any the servers answer again."""
        self.answers = answers
        self.command("Fetch.enable" if answers else "Fetch.disable")

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

    def press(self, key, modifiers=0):
        """A key of KEYS, or a letter."""
        name, number, text = KEYS.get(key, (key, ord(key[0].upper()), "" if modifiers else key))
        key = {"key": name, "code": name, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        commands = ["selectAll"] if (name, modifiers) == ("a", CONTROL) else []
        typed = {"text": text} if text else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", commands=commands, **key, **typed)
        self.command("Input.dispatchKeyEvent", type="keyUp", **key)

    def type(self, text):
        self.command("Input.insertText", text=text)

    def scheme(self, name):
        """`light` or `dark`."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, file, whole=False):
        """Of the window, or of the whole page."""
        part = {}
        if whole:
            size = self.command("Page.getLayoutMetrics")["cssContentSize"]
            part = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        image = self.command("Page.captureScreenshot", format="png", **part)["data"]
        file.write_bytes(base64.b64decode(image))
