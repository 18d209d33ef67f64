"""check.py FOLDER   looks at the operator's page and at /docs of a running system with a headless Chromium. Screenshots
go to FOLDER. The addresses and process ids of the system stand in the environment, as in .local/env.

The system has a replica of devices whose answers are markup (hostile.py), and a route whose name is.
"""

import json
import os
import signal
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

from browser import Browser, Failed
from hostile import MARKUP

admin, gateway = os.environ["GATEWAY_ADMIN_URL"], os.environ["GATEWAY_URL"]
folder = Path(sys.argv[1])
failures = 0
USER = {"identifier": "grace@example.com", "password": "tulips in the window box"}


def expect(what, holds, seen=""):
    global failures
    print(f"    {'ok' if holds else 'NOT'}: {what}{'' if holds else f': {seen}'}", flush=True)
    failures += not holds


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def post(path, value):
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(gateway + path, json.dumps(value).encode(), headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def row(text):
    """The cells of the row of a replica or route, as an expression."""
    return (
        "[...document.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
        f".find((cells) => cells.includes({text!r}))"
    )


def no_markup(browser):
    """Nothing that an answer held became an element: the page makes none but these."""
    made = browser.value("[...new Set([...document.querySelectorAll('main *')].map((each) => each.localName))].sort()")
    allowed = {"code", "dd", "div", "dl", "dt", "h2", "p", "section", "span", "table", "td", "th", "tr"}
    # The parser puts rows of its own tables into a tbody; the script makes none.
    expect("no value became markup", set(made) <= allowed | {"tbody"}, made)


class Traffic:
    """Some requests a second, for as long as the block lasts."""

    def __enter__(self):
        post("/v1/auth/register", USER)
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.wait(0.02):
            for path in ("/openapi.json", "/docs", "/v1/auth/me", "/nowhere", "/hostile"):
                status(gateway + path)
            # The gateway hears of the session's end.
            session = post("/v1/auth/login", USER)
            post("/v1/auth/logout", {"refreshToken": session["refreshToken"]})

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def tile(name):
    """What a tile says, as an expression."""
    return f"[...document.querySelectorAll('dt')].find((each) => each.textContent === {name!r}).nextSibling.textContent"


def look_at_page(browser):
    browser.open(f"{admin}/operator")
    browser.wait("the page shows something", "!document.querySelector('main').hidden")
    for name in ("identity", "tokens", "devices"):
        address = os.environ[f"{name.upper()}_URL"].removeprefix("http://")
        browser.wait(f"{name} is ready", f"({row(address)} ?? [])[2] === 'ready'")
        cells = browser.value(row(address))
        expect(f"{name} is there with its version", cells[0] == name and cells[3][0].isdigit(), cells)
    expect("a version that is markup stands there as text", browser.value(f"{row(MARKUP)}?.[0]") == "devices")
    expect("so does the name of a route", browser.value(f"Boolean({row('<b onclick=run()>hostile</b>')})"))
    no_markup(browser)
    browser.wait("rates are there", "Number(document.getElementById('window').textContent) >= 4")
    said = {name: browser.value(tile(name)) for name in ("Requests", "Refusals", "Half within", "99 % within")}
    above = all(text[0].isdigit() and float(text.split()[0]) > 0 for text in said.values())
    expect("rates and latencies are above 0", above, said)
    cells = browser.value(row("/openapi.json"))
    expect("a route that was asked for is there", cells and cells[1] != "0.00 /s" and int(cells[2]) > 0, cells)
    refusal = browser.value(row("INVALID_TOKEN"))
    expect("a refusal is there", refusal and refusal[1] == "/v1/auth/me" and int(refusal[3]) > 0, refusal)
    expect("keys are there", browser.value("document.querySelectorAll('#keys tr').length") >= 2)
    signs = browser.value(row("signs"))
    expect("the key that signs is there with its age", signs and signs[3] != "unknown", signs)
    delay = browser.value(tile("99 % of revocations known after"))
    expect("how late revocations are known is there", delay[0].isdigit() and delay.endswith("s"), delay)
    expect("circuits are there", browser.value("document.querySelectorAll('#circuits tr').length") >= 4)
    elsewhere = [url for url in browser.requests if not url.startswith(admin + "/")]
    expect("no other host is asked", not elsewhere, elsewhere)
    # The browser's own wish for an icon.
    complaints = [text for text in browser.complaints if "favicon" not in text]
    expect("the browser complains of nothing", not complaints, complaints)
    grounds = []
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        grounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
        browser.screenshot(folder / f"operator-{scheme}.png")
    expect("light and dark differ", grounds[0] != grounds[1], grounds)


def look_at_staleness(browser):
    tokens, gateway_process = (int(os.environ[f"{name}_PID"]) for name in ("TOKENS", "GATEWAY"))
    address = os.environ["TOKENS_URL"].removeprefix("http://")
    os.kill(tokens, signal.SIGSTOP)
    try:
        browser.wait("a replica that hangs is shown", f"({row(address)} ?? [])[2] === 'does not answer'")
        cells = browser.value(row(address))
        expect("its version is the last known one", cells[3][0].isdigit() and cells[6].endswith("ago"), cells)
    finally:
        os.kill(tokens, signal.SIGCONT)
    browser.wait("it is back", f"({row(address)} ?? [])[2] === 'ready'")
    os.kill(gateway_process, signal.SIGSTOP)
    try:
        browser.wait("the page says that it is stale", "!document.getElementById('staleness').hidden", 30)
        text = browser.value("document.getElementById('staleness').textContent")
        expect("it says how stale", "has not answered for" in text, text)
        expect("it fades", browser.value("document.body.className") == "stale")
    finally:
        os.kill(gateway_process, signal.SIGCONT)
    browser.wait("it recovers", "document.getElementById('staleness').hidden", 30)
    expect("it goes on by itself when the gateway is back", True)


def look_at_docs(browser):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(f"{gateway}/docs")
    browser.command("Emulation.setScriptExecutionDisabled", value=False)
    expect("/docs can be read without a script", "POST /v1/auth/login" in browser.value("document.body.innerText"))
    elsewhere = [url for url in browser.requests if not url.startswith(gateway + "/")]
    expect("/docs asks no other host", not elsewhere, elsewhere)
    complaints = [text for text in browser.complaints if "favicon" not in text]
    expect("the browser complains of nothing there", not complaints, complaints)
    wide = browser.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    expect("/docs is no wider than its window", wide)
    wide = "[...document.querySelectorAll('nav li')].filter((each) => each.scrollWidth > each.clientWidth)"
    wide = browser.value(f"{wide}.map((each) => each.textContent)")
    expect("no path of /docs runs over the next column", not wide, wide)
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        browser.screenshot(folder / f"docs-{scheme}.png")


def main():
    for path in ("/operator", "/operator.json", "/operator.js", "/metrics"):
        expect(f"{path} is not on the public port", status(gateway + path) == 404)
    browser = Browser(width=1000, height=1300)
    try:
        with Traffic():
            look_at_page(browser)
        look_at_staleness(browser)
        look_at_docs(browser)
    except Failed as error:
        expect(str(error), False)
    finally:
        browser.close()
    sys.exit(bool(failures))


main()
