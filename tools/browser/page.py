"""A headless Chromium, driven by Playwright with the keyboard alone; axe examines what it shows."""

import atexit
import os
import shutil

import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

MARKUP = "<img src=x onerror=run()><script>run()</script>"
OUTLINE = "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== 'none'"
gateway = os.environ["GATEWAY_URL"]
expect.set_options(timeout=30_000)


def post(path, body):
    return requests.post(gateway + path, json=body, timeout=60)


class Page:
    """`tab` is Playwright's page."""

    def __init__(self, folder, width, height):
        self.folder = folder
        playwright = sync_playwright().start()
        atexit.register(playwright.stop)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        self.tab = browser.new_page(viewport={"width": width, "height": height})
        self.urls, self.complaints = [], []
        self.tab.on("request", lambda request: self.urls.append(request.url))
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def check(self, what, holds, seen=""):
        assert holds, f"{what}: {seen}"
        print(f"    {what}", flush=True)

    def see(self, text, selector="main"):
        """In the last element of the selector: the dialog in front, if it is one of dialogs."""
        expect(self.tab.locator(selector).last).to_contain_text(text)

    def rows(self, caption, *texts):
        """The rows of a table in which each of these stands as a whole."""
        found = self.tab.get_by_role("table", name=caption, exact=True).locator("tbody tr")
        for text in texts:
            found = found.filter(has=self.tab.get_by_text(text, exact=True))
        return found

    @property
    def focused(self):
        return self.tab.locator("*:focus")

    def reach(self, name, back=False):
        """Tab until the element with this accessible name has the focus, which has to be seen."""
        button, link = (self.tab.get_by_role(role, name=name, exact=True) for role in ("button", "link"))
        wanted = self.tab.get_by_label(name, exact=True).or_(button).or_(link).and_(self.focused)
        for _ in range(120):
            self.tab.keyboard.press("Shift+Tab" if back else "Tab")
            assert self.tab.evaluate(OUTLINE), f"nothing shows the focus: {self.focused.aria_snapshot()}"
            if wanted.count():
                return
        raise AssertionError(f"Tab does not reach {name!r}; {self.tab.inner_text('body')}")

    def activate(self, name, back=False):
        self.reach(name, back)
        self.tab.keyboard.press("Enter")

    def write(self, text):
        """Into the field that has the focus, in place of what it has."""
        self.tab.keyboard.press("Control+A")
        self.tab.keyboard.type(text)

    def submit(self, text):
        self.write(text)
        self.tab.keyboard.press("Enter")

    def examine(self, what, without=""):
        """By axe, in both color schemes."""
        for scheme in ("dark", "light"):
            self.tab.emulate_media(color_scheme=scheme)
            grave = [
                f"{each['id']}: {[node['html'][:100] for node in each['nodes'][:3]]}"
                for each in Axe().run(self.tab).response["violations"]
                if each["impact"] in ("serious", "critical") and each["id"] != without
            ]
            self.check(f"{what}, {scheme}: axe finds nothing serious", not grave, grave)

    def only_text(self, what, allowed):
        """No value of an answer became an element, and none ran."""
        made = self.tab.locator("main *, dialog *").evaluate_all("all => all.map((each) => each.localName)")
        self.check(f"{what}: markup in a value stays text", set(made) <= set(allowed.split()), set(made))
        self.check(f"{what}: nothing of it ran", not self.tab.evaluate("window.ran"))

    def look_back(self, origin):
        """What the browser asked for, and what it complained of, since the last call."""
        elsewhere = [url for url in self.urls if not url.startswith((origin + "/", "data:", "about:"))]
        self.check("no other host is asked", self.urls and not elsewhere, elsewhere)
        # The browser notes every answer that is an error, and each of them was wanted.
        complaints = [text for text in self.complaints if "Failed to load resource" not in text]
        self.check("the browser complains of nothing, of the policy neither", not complaints, complaints)
        self.urls.clear()

    def picture(self, name):
        """Of the page to the end of its content, as far as a document has room for."""
        end = self.tab.evaluate("document.querySelector('main').getBoundingClientRect().bottom + scrollY + 24")
        clip = {"x": 0, "y": 0, "width": self.tab.viewport_size["width"], "height": min(end, 1300)}
        self.tab.screenshot(path=self.folder / f"{name}.png", full_page=True, clip=clip)
