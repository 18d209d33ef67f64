"""operator_page.py FOLDER   looks at the operator's page and at /docs. Pictures go to FOLDER. With HOSTILE in the
environment, the gateway has a replica of devices whose answer is markup, and a route whose name is."""

import os
import re
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import requests
from page import MARKUP, Page, expect, gateway, post

admin = os.environ["GATEWAY_ADMIN_URL"]
USER = {"identifier": "traffic@example.com", "password": "tulips in the window box"}


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


def cells(page, text):
    """Those of the first row that has this text in one of them."""
    return page.tab.locator("tr").filter(has=page.tab.get_by_text(text, exact=True)).first.locator("td")


def look_at_page(page):
    page.tab.goto(f"{admin}/operator")
    for name in ("identity", "tokens", "devices"):
        expect(cells(page, address(name)).nth(2)).to_have_text("ready")
    # Rates need some seconds.
    expect(page.tab.locator("#window")).to_have_text(re.compile(r"^([4-9]|\d\d)"))
    if "HOSTILE" in os.environ:
        expect(cells(page, MARKUP).first).to_have_text("devices")
        expect(cells(page, "<b onclick=run()>hostile</b>").first).to_be_visible()
    page.only_text("the page", "code dd div dl dt h2 p section span table tbody td th tr")
    tiles = ("Requests", "Refusals", "Half within", "99 % within")
    said = {name: page.tab.locator(f"dt:text-is({name!r}) + dd").inner_text() for name in tiles}
    above = all(text[0].isdigit() and float(text.split()[0]) > 0 for text in said.values())
    page.check("rates and latencies are above 0", above, said)
    refusal = cells(page, "INVALID_TOKEN").all_inner_texts()
    page.check("a refusal is there", refusal[1] == "/v1/auth/me" and int(refusal[3]) > 0, refusal)
    key = cells(page, "signs").all_inner_texts()
    page.check("the key that signs is there with its age", key[3] != "unknown", key)
    page.examine("the operator's page")
    for scheme in ("dark", "light"):
        page.tab.emulate_media(color_scheme=scheme)
        page.picture(f"operator-{scheme}")


def look_at_staleness(page):
    staleness = page.tab.locator("#staleness")
    with stopped("TOKENS"):
        expect(cells(page, address("tokens")).nth(2)).to_have_text("does not answer")
    expect(cells(page, address("tokens")).nth(2)).to_have_text("ready")
    with stopped("GATEWAY"):
        expect(staleness).to_contain_text("has not answered for")
    expect(staleness).to_be_hidden()
    page.look_back(admin)


def look_at_docs(page):
    session = page.tab.context.new_cdp_session(page.tab)
    session.send("Emulation.setScriptExecutionDisabled", {"value": True})
    page.tab.goto(f"{gateway}/docs")
    session.send("Emulation.setScriptExecutionDisabled", {"value": False})
    page.check("/docs can be read without a script", "/v1/auth/login" in page.tab.inner_text("body"))
    wide = """() => [...document.querySelectorAll("nav li")].filter((item) =>
        item.scrollWidth > item.clientWidth).map((item) => item.textContent)"""
    too_wide = page.tab.evaluate(wide)
    page.check("no path runs over the next column", not too_wide, too_wide)
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
