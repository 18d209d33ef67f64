"""A headless Chromium, driven by Selenium with the keyboard alone; axe examines what it shows."""

import atexit
import base64
import json
import os
import shutil
from pathlib import Path

import requests
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

MARKUP = "<img src=x onerror=run()><script>run()</script>"
# Of the last element of a selector: the dialog in front, if it is one of dialogs.
TEXT = "([...document.querySelectorAll({!r})].at(-1)?.innerText ?? '')"
gateway = os.environ["GATEWAY_URL"]


def post(path, body):
    return requests.post(gateway + path, json=body, timeout=60)


class Page:
    def __init__(self, folder, width, height):
        self.folder = folder
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for name in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
            options.add_argument(f"--{name}")
        options.add_argument(f"--window-size={width},{height}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        atexit.register(self.driver.quit)
        # axe takes its time over a long page.
        self.driver.set_script_timeout(180)
        self.axe = Path(os.environ["AXE"]).read_text()

    def expect(self, what, holds, seen=""):
        assert holds, f"{what}: {seen}"
        print(f"    {what}", flush=True)

    def value(self, expression):
        return self.driver.execute_script(f"return {expression}")

    def wait(self, what, expression, seconds=30):
        try:
            return WebDriverWait(self.driver, seconds, 0.1).until(lambda _: self.value(expression))
        except TimeoutException:
            raise AssertionError(f"{what}: not within {seconds} s; {self.text('body')}") from None

    def text(self, selector):
        return self.value(TEXT.format(selector))

    def see(self, text, selector="main"):
        return self.wait(f"{selector} shows {text!r}", f"{TEXT.format(selector)}.includes({text!r})")

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def focused(self):
        return self.driver.switch_to.active_element

    def reach(self, name, back=False):
        """Tab until the element with this accessible name has the focus, which has to be seen."""
        for _ in range(120):
            if back:
                ActionChains(self.driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
            else:
                self.press(Keys.TAB)
            element = self.focused
            is_seen = element.tag_name == "body" or element.value_of_css_property("outline-style") != "none"
            assert is_seen, f"{element.accessible_name} has the focus, and nothing shows it"
            if element.accessible_name == name:
                return
        raise AssertionError(f"Tab does not reach {name!r}; {self.text('body')}")

    def activate(self, name, back=False):
        self.reach(name, back)
        self.press(Keys.ENTER)

    def write(self, text):
        """Into the field that has the focus, in place of what it has."""
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(text).perform()

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def examine(self, what, without=""):
        """By axe, in both color schemes."""
        self.driver.execute_script(self.axe)
        for scheme in ("dark", "light"):
            self.scheme(scheme)
            found = self.driver.execute_async_script(
                "axe.run({resultTypes: ['violations']}).then(arguments[0], (error) => arguments[0](`${error}`))"
            )
            grave = [
                f"{each['id']}: {[node['html'][:100] for node in each['nodes'][:3]]}"
                for each in found["violations"]
                if each["impact"] in ("serious", "critical") and each["id"] != without
            ]
            self.expect(f"{what}, {scheme}: axe finds nothing serious", not grave, grave)

    def only_text(self, what, allowed):
        """No value of an answer became an element, and none ran."""
        made = set(self.value("[...document.querySelectorAll('main *, dialog *')].map((each) => each.localName)"))
        self.expect(f"{what}: markup in a value stays text", made <= set(allowed.split()), made)
        self.expect(f"{what}: nothing of it ran", not self.value("window.ran"))

    def look_back(self, origin):
        """What the browser asked for, and what it complained of, since the last call."""
        events = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        urls = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
        elsewhere = [url for url in urls if not url.startswith((origin + "/", "data:", "about:"))]
        self.expect("no other host is asked", urls and not elsewhere, elsewhere)
        # The browser notes every answer that is an error, and each of them was wanted.
        complaints = [each["message"] for each in self.driver.get_log("browser")]
        complaints = [text for text in complaints if "Failed to load resource" not in text]
        self.expect("the browser complains of nothing, of the policy neither", not complaints, complaints)

    def picture(self, name):
        """Of the page to the end of its content, as far as a document has room for."""
        end = self.value("document.querySelector('main').getBoundingClientRect().bottom + scrollY + 24")
        clip = {"x": 0, "y": 0, "width": self.value("innerWidth"), "height": min(end, 1300), "scale": 1}
        image = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        (self.folder / f"{name}.png").write_bytes(base64.b64decode(image["data"]))
