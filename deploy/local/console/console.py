"""The console in a browser, as somebody with a keyboard uses it."""

from accessibility import findings
from browser import Browser
from gatehouse import gateway
from keyboard import Keyboard

# The dialog in front.
FRONT = "[...document.querySelectorAll('dialog')].at(-1)"


class Console:
    def __init__(self, folder):
        self.browser = Browser(width=1200, height=1000)
        self.browser.command("Emulation.setFocusEmulationEnabled", enabled=True)
        self.browser.command("Accessibility.enable")
        self.keyboard = Keyboard(self.browser)
        self.folder, self.failures = folder, 0
        # Every request and complaint of the whole test.
        self.requests, self.complaints = [], []

    def expect(self, what, holds, seen=""):
        print(f"    {'ok' if holds else 'NOT'}: {what}{'' if holds else f': {seen}'}", flush=True)
        self.failures += not holds

    def value(self, expression):
        return self.browser.value(expression)

    def wait(self, what, expression, seconds=30):
        self.browser.wait(what, expression, seconds)

    def open(self, hash=""):
        """Anew, as from a link: nobody is signed in."""
        self.keep()
        self.browser.open("about:blank")
        self.browser.open(f"{gateway}/console{hash}")
        self.wait("the form is there", "Boolean(document.querySelector('main input'))")

    def keep(self):
        self.requests += self.browser.requests
        self.complaints += self.browser.complaints
        self.browser.requests, self.browser.complaints = [], []

    def go(self, hash):
        """As by a link."""
        self.browser.command("Runtime.evaluate", expression=f"location.hash = {hash!r}")

    def sign_in(self, person, heading=None):
        """With the keyboard, from the form that has the focus."""
        self.keyboard.write_here(person.identifier)
        self.keyboard.write("Password", person.password)
        self.keyboard.press("Enter")
        if heading:
            self.wait_heading(heading)

    def wait_heading(self, text):
        self.wait(
            f"the heading {text!r} has the focus",
            f"document.activeElement.localName === 'h1' && document.activeElement.textContent === {text!r}",
        )

    def wait_result(self, text):
        self.wait(f"the result {text!r}", f"document.getElementById('result').textContent === {text!r}")

    def trouble(self):
        return self.value("document.getElementById('trouble').textContent")

    def wait_dialog(self, title):
        """The dialog in front."""
        self.wait(
            f"the dialog {title!r}",
            f"[...document.querySelectorAll('dialog')].at(-1)?.querySelector('h2').textContent === {title!r}",
        )

    def dialog_text(self):
        return self.value("[...document.querySelectorAll('dialog')].at(-1)?.innerText")

    def wait_dialog_trouble(self, part):
        self.wait(
            f"the dialog says {part!r}",
            f"{FRONT}?.querySelector('[role=alert]').textContent.includes({part!r})",
        )

    def dialogs(self):
        return self.value("document.querySelectorAll('dialog').length")

    def rows(self, caption):
        """The cells of a table's rows, as text."""
        return self.value(
            f"[...([...document.querySelectorAll('table')].find((each) => each.caption.textContent === {caption!r})"
            "?.tBodies[0].rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )

    def wait_rows(self, caption, condition):
        """`condition`: of `rows`, in the page's language."""
        self.wait(
            f"the rows of {caption}: {condition}",
            f"((rows) => {condition})([...([...document.querySelectorAll('table')].find((each) => "
            f"each.caption.textContent === {caption!r})?.tBodies[0].rows ?? [])]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent)))",
        )

    def fact(self, name):
        return self.value(
            "[...document.querySelectorAll('dt')]"
            f".find((each) => each.textContent === {name!r})?.nextSibling.textContent"
        )

    def inspect(self, what):
        """The view is for everybody."""
        found = findings(self.browser)
        self.expect(f"{what}: names, headings, labels, headers, contrast by day and by night", not found, found)

    def screenshot(self, name, scheme="light", whole=False):
        self.browser.scheme(scheme)
        self.value("document.fonts.ready.then(() => true)")
        self.browser.screenshot(self.folder / f"console-{name}.png", whole)
        self.browser.scheme("light")

    def close(self):
        self.browser.close()
