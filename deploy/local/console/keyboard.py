"""Somebody who has a keyboard and no mouse."""

from browser import CONTROL, SHIFT, Failed

# What has the focus: how a screen reader would name it, and whether one sees that it has the focus.
FOCUSED = """(() => {
    const each = document.activeElement;
    const style = getComputedStyle(each);
    return {
        tag: each.localName,
        name: each.getAttribute("aria-label") || each.labels?.[0]?.textContent || each.textContent.trim(),
        isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    };
})()"""


class Keyboard:
    """`unseen` collects what had the focus without showing it."""

    # More than any view has.
    most_stops = 120

    def __init__(self, browser):
        self.browser = browser
        self.unseen = set()

    def focused(self):
        return self.browser.value(FOCUSED)

    def reach(self, name, tag=None, back=False):
        """Tab until what is named so has the focus."""
        met = []
        for _ in range(self.most_stops):
            self.browser.press("Tab", SHIFT if back else 0)
            focused = self.focused()
            if focused["tag"] != "body" and not focused["isSeen"]:
                self.unseen.add(f"{focused['tag']} {focused['name'][:40]}")
            met.append(focused["name"][:40])
            if focused["name"] == name and tag in (None, focused["tag"]):
                return
        raise Failed(f"Tab does not reach {name!r}, only {sorted(set(met))}")

    def press(self, key):
        self.browser.press(key)

    def activate(self, name, tag=None, back=False):
        self.reach(name, tag, back)
        self.browser.press("Enter")

    def write(self, name, text):
        """In place of what the field has."""
        self.reach(name)
        self.write_here(text)

    def write_here(self, text):
        self.browser.press("a", CONTROL)
        self.browser.type(text)
