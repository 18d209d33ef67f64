"""console.py FOLDER   an operator's day in the console, with the keyboard alone. test-browser.sh started the system and
made an operator and a user. Pictures go to FOLDER."""

import os
import subprocess
import sys
from pathlib import Path

import requests
from page import MARKUP, Page, expect, gateway, post

TEXT = "h1 h2 p div section form label input select option button span a code time"
TEXT += " table caption thead tbody tr th td dl dt dd dialog"

simulator = os.environ["APPLE_SIMULATOR_URL"] + "/simulator"


class User:
    def __init__(self, name):
        self.body = {"identifier": f"{name}@example.com", "password": f"{name} password"}

    def register(self, display_name):
        answer = post("/v1/auth/register", self.body | {"displayName": display_name})
        assert answer.status_code == 201, answer.text

    def sign_in(self, device="Test"):
        return post("/v1/auth/login", self.body | {"device": {"name": device}}).json()

    def see(self):
        """The user's id, and how many sessions the user has."""
        session = self.sign_in()
        headers = {"Authorization": f"Bearer {session['accessToken']}"}
        sessions = requests.get(f"{gateway}/v1/auth/sessions", headers=headers, timeout=60).json()["sessions"]
        post("/v1/auth/logout", {"refreshToken": session["refreshToken"]})
        return session["user"]["id"], len(sessions)


def refresh(session):
    """The answer's code, if there is one."""
    return post("/v1/auth/refresh", {"refreshToken": session["refreshToken"]}).json().get("code")


def wait_heading(page, text):
    expect(page.tab.get_by_role("heading", name=text, exact=True, level=1)).to_be_focused()


def go(page, fragment, heading):
    page.tab.evaluate("fragment => { location.hash = fragment; }", fragment)
    wait_heading(page, heading)


def sign_in(page, user, heading):
    page.write(user.body["identifier"])
    page.reach("Password")
    page.submit(user.body["password"])
    wait_heading(page, heading)


def enter(page, operator):
    page.tab.goto(f"{gateway}/console")
    page.see("Sign in to the console")
    expect(page.focused).to_have_accessible_name("E-mail or phone")
    page.examine("signing in")
    page.write(operator.body["identifier"])
    page.reach("Password")
    page.submit("not the password")
    expect(page.tab.locator("#trouble")).not_to_be_empty()
    page.reach("E-mail or phone", back=True)
    sign_in(page, operator, "Users")


def find(page, ada):
    expect(page.rows("Users")).to_have_count(7)
    page.examine("users")
    page.picture("console-users")
    page.reach("E-mail or phone, from its beginning", back=True)
    page.write("ada@")
    expect(page.rows("Users")).to_have_count(1)
    expect(page.rows("Users", "Ada", ada.body["identifier"], "Active")).to_have_count(1)
    page.activate("Ada")
    wait_heading(page, "Ada")
    expect(page.rows("Sessions")).to_have_count(2)
    for device in ("Ada's iPhone", "Ada's iPad"):
        expect(page.rows("Sessions", device)).to_have_count(1)
    expect(page.rows("Audit log", "Signed in").first).to_be_visible()
    page.examine("a user")
    for scheme in ("dark", "light"):
        page.tab.emulate_media(color_scheme=scheme)
        page.picture(f"console-user-{scheme}")


def disable(page, ada):
    page.activate("Disable…")
    page.see("Disable Ada?", "dialog")
    # What does nothing has the focus.
    expect(page.focused).to_have_accessible_name("Cancel")
    page.examine("a dialog")
    page.tab.keyboard.press("Escape")
    expect(page.tab.locator("dialog")).to_have_count(0)
    expect(page.focused).to_have_accessible_name("Disable…")
    page.tab.keyboard.press("Enter")
    page.see("Disable Ada?", "dialog")
    page.activate("Disable")
    page.see("Ada is disabled.", "#result")
    page.see("Signed in nowhere.")
    page.check("the user cannot sign in", ada.sign_in().get("code") == "ACCOUNT_DISABLED")
    page.activate("Enable…")
    page.see("Enable Ada?", "dialog")
    page.tab.keyboard.press("Enter")
    page.see("Ada is enabled.", "#result")


def end_session(page, ada):
    phone, tablet = ada.sign_in("Ada's iPhone"), ada.sign_in("Ada's iPad")
    go(page, "#/users", "Users")
    go(page, f"#/users/{ada.id}", "Ada")
    expect(page.rows("Sessions")).to_have_count(2)
    page.activate("Sign out of Ada's iPad")
    page.see("Sign Ada out of Ada's iPad?", "dialog")
    page.activate("Sign out")
    page.see("Ada is signed out of Ada's iPad.", "#result")
    page.check("its refresh token is refused", refresh(tablet) == "INVALID_REFRESH_TOKEN")
    page.check("the other session lives", refresh(phone) is None)


def add_phone(page):
    page.activate("Add phone…")
    page.see("Add phone of Ada", "dialog")
    page.submit("+49 171 1234567")
    page.see("Phone of Ada is set.", "#result")
    expect(page.rows("Identifiers", "+491711234567", "yes")).to_have_count(1)


def prove(page, operator):
    """The last proof is an hour old, and the page's clock says that the token has to be renewed."""
    statement = "UPDATE sessions SET authenticated_at = authenticated_at - interval '1 hour'"
    subprocess.run(["psql", "-qXc", statement, os.environ["TOKENS_DATABASE_URL"]], check=True)

    def unverify(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"emailVerified":true', '"emailVerified":null'))

    later = "() => { performance.now = ((now) => () => now() + 4e6)(performance.now.bind(performance)); }"
    page.tab.evaluate(later)
    page.tab.route("**/v1/auth/refresh", unverify)
    page.activate("Sign out everywhere…")
    page.see("Sign Ada out everywhere?", "dialog")
    page.activate("Sign out everywhere")
    page.see("No code can be sent: your account has no verified e-mail address", "dialog")
    page.tab.keyboard.press("Escape")
    page.see("Nothing was changed.", "dialog")
    page.tab.unroute("**/v1/auth/refresh")
    page.tab.evaluate(later)
    page.activate("Sign out everywhere")
    page.see("Confirm your identity", "dialog")
    page.examine("the proof")
    page.activate(f"Send a code to {operator.body['identifier']} instead")
    with page.tab.expect_request("**/v1/auth/code") as asked:
        page.activate("Send it")
    page.check("the console asks for a code to step up", asked.value.post_data_json["purpose"] == "stepUp")
    page.see("A code is on its way", "dialog")
    page.tab.keyboard.press("Escape")
    page.see("Nothing was changed.", "dialog")
    page.activate("Sign out everywhere")
    page.see("Confirm your identity", "dialog")
    page.submit(operator.body["password"])
    page.see("Ada is signed out everywhere.", "#result")


def see_audit(page, ada):
    page.activate("All entries, with operators' views")
    wait_heading(page, "Audit log")
    # The row names the operator and the disabled user.
    expect(page.rows("Audit log", "Disabled", ada.id[:8]).filter(has_text="Operator ")).to_have_count(1)
    page.examine("the audit")
    page.picture("console-audit")


def register_phones(operator):
    """Two phones of the operator; Apple refuses the token of the second."""
    session = operator.sign_in("Olga's phone")
    headers = {"Authorization": f"Bearer {session['accessToken']}"}
    for token, version in (("0a", "4.2"), ("0b", "4.1")):
        body = {"token": token, "environment": "sandbox", "bundleId": "com.example.app", "appVersion": version}
        # One of the gateway's two addresses of devices is another server.
        for _ in range(100):
            answer = requests.post(f"{gateway}/v1/devices/register", json=body, headers=headers, timeout=60)
            if answer.status_code == 200:
                break
        assert answer.status_code == 200, answer.text
    answer = {"token": "0b", "status": 400, "reason": "BadDeviceToken"}
    requests.post(f"{simulator}/apns-answer", json=answer, timeout=60).raise_for_status()


def send_test_push(page, operator):
    register_phones(operator)
    page.activate("Olga", back=True)
    wait_heading(page, "Olga")
    expect(page.rows("Devices")).to_have_count(2)
    page.see("No push to this user has failed in the last days.")
    page.activate("Send a test push…")
    page.see("Send a test push", "dialog")
    expect(page.focused).to_have_accessible_name("Title")
    page.examine("the dialog of a test push")
    page.submit("From the console")
    page.see("Apple accepted the test push for 1 of 2 devices.", "#result")
    expect(page.rows("Test push", "com.example.app 4.2, sandbox", "Accepted by Apple")).to_have_count(1)
    refused = ("Refused by Apple", "Apple does not know the device")
    expect(page.rows("Test push", "com.example.app 4.1, sandbox", *refused)).to_have_count(1)
    pushes = requests.get(f"{simulator}/apns-pushes", timeout=60).text
    page.check("the simulated Apple has it", "From the console" in pushes)
    go(page, "#/users", "Users")
    page.activate("Olga", back=True)
    wait_heading(page, "Olga")
    expect(page.rows("Pushes that were not delivered", "com.example.app", "operator", *refused)).to_have_count(1)
    page.only_text("pushes", TEXT)
    page.examine("pushes")


def see_hostile(page):
    mallory = User("mallory")
    mallory.register(MARKUP)
    mallory.sign_in(MARKUP)
    page.tab.evaluate("() => { window.run = () => { window.ran = true; }; }")
    go(page, "#/users?identifier=mallory", "Users")
    expect(page.rows("Users", MARKUP)).to_have_count(1)
    page.only_text("in the list", TEXT)
    page.activate(MARKUP)
    wait_heading(page, MARKUP)
    expect(page.rows("Sessions").filter(has_text=MARKUP).first).to_be_visible()
    page.activate("Disable…")
    page.see(f"Disable {MARKUP}?", "dialog")
    page.only_text("on the page and in a dialog", TEXT)
    page.tab.keyboard.press("Escape")


def lose_network(page):
    page.tab.context.set_offline(True)
    go(page, "#/audit?action=disabled", "Audit log")
    page.see("Gatehouse cannot be reached.")
    page.tab.context.set_offline(False)
    page.activate("Try again")
    expect(page.rows("Audit log", "Disabled")).to_have_count(1)
    go(page, "#/overview", "Overview")
    expect(page.tab.locator("svg.chart")).to_have_count(3)
    page.examine("overview")
    page.picture("console-overview")


def reload(page, operator, ada, alan):
    _, before = operator.see()
    go(page, f"#/users/{ada.id}", "Ada")
    page.tab.reload()
    page.see("Sign in to the console")
    page.check("the session that was left has ended", operator.see()[1] == before - 1)
    kept = page.tab.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    page.check("the browser keeps nothing", kept == '[{},{},""]', kept)
    sign_in(page, operator, "Ada")
    page.activate("Sign out", back=True)
    page.see("Sign in to the console")
    page.check("nothing of a user is left on the page", "ada@" not in page.tab.inner_text("body"))
    expect(page.tab.locator("input:focus")).to_be_visible()
    sign_in(page, alan, "Not for this account")
    page.examine("a refusal")


def main():
    for name in ("Alan", "Barbara", "Edsger", "Grace", "Katherine"):
        User(name.lower()).register(name)
    operator, ada, alan = (User(name) for name in ("operator", "ada", "alan"))
    ada.id, _ = ada.see()
    ada.sign_in("Ada's iPhone")
    ada.sign_in("Ada's iPad")
    page = Page(Path(sys.argv[1]), 1200, 1000)
    enter(page, operator)
    find(page, ada)
    disable(page, ada)
    end_session(page, ada)
    add_phone(page)
    prove(page, operator)
    see_audit(page, ada)
    send_test_push(page, operator)
    see_hostile(page)
    lose_network(page)
    reload(page, operator, ada, alan)
    page.look_back(gateway)


main()
