"""operator_page.py FOLDER   looks at the operator's page and at /docs of a running system. Pictures go to FOLDER. The
addresses and process ids of the system stand in the environment. With HOSTILE there, the gateway has a replica of devices
whose answer is markup, and a route whose name is.
"""

import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import requests
from page import MARKUP, Page, gateway, post

admin = os.environ["GATEWAY_ADMIN_URL"]
USER = {"identifier": "traffic@example.com", "password": "tulips in the window box"}
ROW = (
    "([...document.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
    ".find((cells) => cells.includes({!r})) ?? [])"
)
TILE = "[...document.querySelectorAll('dt')].find((each) => each.textContent === {!r}).nextSibling.textContent"


@contextmanager
def traffic():
    """Some requests a second, and sessions that end."""
    post("/v1/auth/register", USER)
    ended = threading.Event()

    def run():
        while not ended.wait(0.02):
            for path in ("/openapi.json", "/docs", "/v1/auth/me", "/nowhere", "/hostile"):
                requests.get(gateway + path, timeout=60)
            session = post("/v1/auth/login", USER).json()
            post("/v1/auth/logout", {"refreshToken": session["refreshToken"]})

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def stopped(name):
    """A process that hangs."""
    process = int(os.environ[f"{name}_PID"])
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def address(name):
    return os.environ[f"{name.upper()}_URL"].removeprefix("http://")


def look_at_page(page):
    page.driver.get(f"{admin}/operator")
    for name in ("identity", "tokens", "devices"):
        page.wait(f"{name} is ready", f"{ROW.format(address(name))}[2] === 'ready'")
    page.wait("rates are there", "Number(document.getElementById('window').textContent) >= 4")
    if "HOSTILE" in os.environ:
        page.expect("a version that is markup stands there", page.value(f"{ROW.format(MARKUP)}[0]") == "devices")
        route = ROW.format("<b onclick=run()>hostile</b>")
        page.expect("so does the name of a route", page.value(f"{route}.length > 0"))
    page.only_text("the page", "code dd div dl dt h2 p section span table tbody td th tr")
    said = {name: page.value(TILE.format(name)) for name in ("Requests", "Refusals", "Half within", "99 % within")}
    above = all(text[0].isdigit() and float(text.split()[0]) > 0 for text in said.values())
    page.expect("rates and latencies are above 0", above, said)
    cells = page.value(ROW.format("INVALID_TOKEN"))
    page.expect("a refusal is there", cells and cells[1] == "/v1/auth/me" and int(cells[3]) > 0, cells)
    cells = page.value(ROW.format("signs"))
    page.expect("the key that signs is there with its age", cells and cells[3] != "unknown", cells)
    page.examine("the operator's page")
    for scheme in ("dark", "light"):
        page.scheme(scheme)
        page.picture(f"operator-{scheme}")


def look_at_staleness(page):
    with stopped("TOKENS"):
        page.wait("a replica that hangs is shown", f"{ROW.format(address('tokens'))}[2] === 'does not answer'")
    page.wait("it is back", f"{ROW.format(address('tokens'))}[2] === 'ready'")
    with stopped("GATEWAY"):
        page.see("has not answered for", "#staleness")
    page.wait("it recovers", "document.getElementById('staleness').hidden")
    page.look_back(admin)


def look_at_docs(page):
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    page.driver.get(f"{gateway}/docs")
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    page.expect("/docs can be read without a script", "/v1/auth/login" in page.text("body"))
    page.look_back(gateway)
    # Chromium scrolls an example with the keyboard; Safari would need a tabindex.
    page.examine("/docs", without="scrollable-region-focusable")


def main():
    page = Page(Path(sys.argv[1]), 1000, 1300)
    with traffic():
        look_at_page(page)
    look_at_staleness(page)
    look_at_docs(page)


main()
