"""console.py FOLDER   an operator's day in the console of a running system, with the keyboard alone. Pictures go to
FOLDER. The addresses of the system stand in the environment; test-browser.sh has made an operator and a user.
"""

import os
import subprocess
import sys
from pathlib import Path

import requests
from page import MARKUP, Keys, Page, gateway, post

TEXT = "h1 h2 p div section form label input select option button span a code time"
TEXT += " table caption thead tbody tr th td dl dt dd dialog"
ROWS = (
    "[...([...document.querySelectorAll('table')].find((each) => each.caption.textContent === {!r})"
    "?.tBodies[0].rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent))"
)


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
    page.wait(
        f"the heading {text!r} has the focus",
        f"document.activeElement.localName === 'h1' && document.activeElement.textContent === {text!r}",
    )


def wait_rows(page, caption, condition):
    return page.wait(f"rows of {caption}: {condition}", f"((rows) => ({condition}) && rows)({ROWS.format(caption)})")


def go(page, fragment, heading):
    page.driver.execute_script("location.hash = arguments[0]", fragment)
    wait_heading(page, heading)


def sign_in(page, user, heading):
    page.write(user.body["identifier"])
    page.reach("Password")
    page.write(user.body["password"] + Keys.ENTER)
    wait_heading(page, heading)


def enter(page, operator):
    page.driver.get(f"{gateway}/console")
    page.see("Sign in to the console")
    page.expect("the first field has the focus", page.focused.accessible_name == "E-mail or phone")
    page.examine("signing in")
    page.write(operator.body["identifier"])
    page.reach("Password")
    page.write("not the password" + Keys.ENTER)
    page.wait("a wrong password is told", "document.getElementById('trouble').textContent !== ''")
    page.reach("E-mail or phone", back=True)
    sign_in(page, operator, "Users")


def find(page, ada):
    wait_rows(page, "Users", "rows.length === 7")
    page.examine("users")
    page.picture("console-users")
    page.reach("E-mail or phone, from its beginning", back=True)
    page.write("ada@")
    row = wait_rows(page, "Users", "rows.length === 1")[0]
    page.expect("the user is found", row[:2] == ["Ada", ada.body["identifier"]] and row[3] == "Active", row)
    page.activate("Ada")
    wait_heading(page, "Ada")
    names = {row[0] for row in wait_rows(page, "Sessions", "rows.length === 2")}
    page.expect("the sessions are there", names == {"Ada's iPhone", "Ada's iPad"}, names)
    wait_rows(page, "Audit log", "rows.some((row) => row[1] === 'Signed in')")
    page.examine("a user")
    for scheme in ("dark", "light"):
        page.scheme(scheme)
        page.picture(f"console-user-{scheme}")


def disable(page, ada):
    page.activate("Disable…")
    page.see("Disable Ada?", "dialog")
    page.expect("what does nothing has the focus", page.focused.accessible_name == "Cancel")
    page.examine("a dialog")
    page.press(Keys.ESCAPE)
    page.wait("Escape closes the dialog", "!document.querySelector('dialog')")
    page.expect("the focus is where it was", page.focused.accessible_name == "Disable…")
    page.press(Keys.ENTER)
    page.see("Disable Ada?", "dialog")
    page.activate("Disable")
    page.see("Ada is disabled.", "#result")
    page.see("Signed in nowhere.")
    page.expect("the user cannot sign in", ada.sign_in().get("code") == "ACCOUNT_DISABLED")
    page.activate("Enable…")
    page.see("Enable Ada?", "dialog")
    page.press(Keys.ENTER)
    page.see("Ada is enabled.", "#result")


def end_session(page, ada):
    phone, tablet = ada.sign_in("Ada's iPhone"), ada.sign_in("Ada's iPad")
    go(page, "#/users", "Users")
    go(page, f"#/users/{ada.id}", "Ada")
    wait_rows(page, "Sessions", "rows.length === 2")
    page.activate("Sign out of Ada's iPad")
    page.see("Sign Ada out of Ada's iPad?", "dialog")
    page.activate("Sign out")
    page.see("Ada is signed out of Ada's iPad.", "#result")
    page.expect("its refresh token is refused", refresh(tablet) == "INVALID_REFRESH_TOKEN")
    page.expect("the other session lives", refresh(phone) is None)


def add_phone(page):
    page.activate("Add phone…")
    page.see("Add phone of Ada", "dialog")
    page.write("+49 171 1234567" + Keys.ENTER)
    page.see("Phone of Ada is set.", "#result")
    wait_rows(page, "Identifiers", "rows.some((row) => row[0] === '+491711234567' && row[2] === 'yes')")


def prove(page, operator):
    """The last proof is an hour old, and the page's clock says that the token has to be renewed."""
    statement = "UPDATE sessions SET authenticated_at = authenticated_at - interval '1 hour'"
    subprocess.run(["psql", "-qXc", statement, os.environ["TOKENS_DATABASE_URL"]], check=True)
    page.driver.execute_script("performance.now = ((now) => () => now() + 4e6)(performance.now.bind(performance))")
    page.activate("Sign out everywhere…")
    page.see("Sign Ada out everywhere?", "dialog")
    page.activate("Sign out everywhere")
    page.see("Confirm your identity", "dialog")
    page.examine("the proof")
    page.write(operator.body["password"] + Keys.ENTER)
    page.see("Ada is signed out everywhere.", "#result")


def see_audit(page, ada):
    page.activate("All entries, with operators' views")
    wait_heading(page, "Audit log")
    rows = wait_rows(page, "Audit log", "rows.some((row) => row[1] === 'Disabled')")
    row = next(row for row in rows if row[1] == "Disabled")
    names_both = row[2] == ada.id[:8] and row[3].startswith("Operator ")
    page.expect("the audit log names the operator and the disabled user", names_both, row)
    page.examine("the audit")
    page.picture("console-audit")


def see_hostile(page):
    mallory = User("mallory")
    mallory.register(MARKUP)
    mallory.sign_in(MARKUP)
    page.driver.execute_script("window.run = () => { window.ran = true; }")
    go(page, "#/users?identifier=mallory", "Users")
    wait_rows(page, "Users", f"rows.length === 1 && rows[0][0] === {MARKUP!r}")
    page.only_text("in the list", TEXT)
    page.activate(MARKUP)
    wait_heading(page, MARKUP)
    wait_rows(page, "Sessions", f"rows.some((row) => row[0].includes({MARKUP!r}))")
    page.activate("Disable…")
    page.see(f"Disable {MARKUP}?", "dialog")
    page.only_text("on the page and in a dialog", TEXT)
    page.press(Keys.ESCAPE)


def lose_network(page):
    page.driver.set_network_conditions(offline=True, latency=0, throughput=0)
    go(page, "#/audit", "Audit log")
    page.see("Gatehouse cannot be reached.")
    page.driver.delete_network_conditions()
    page.activate("Try again")
    wait_rows(page, "Audit log", "rows.length > 1")
    go(page, "#/overview", "Overview")
    page.wait("charts are there", "document.querySelectorAll('svg.chart').length === 3")
    page.examine("overview")
    page.picture("console-overview")


def reload(page, operator, ada, alan):
    _, before = operator.see()
    go(page, f"#/users/{ada.id}", "Ada")
    page.driver.refresh()
    page.see("Sign in to the console")
    page.expect("the session that was left has ended", operator.see()[1] == before - 1)
    kept = page.value("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    page.expect("the browser keeps nothing", kept == '[{},{},""]', kept)
    sign_in(page, operator, "Ada")
    page.activate("Sign out", back=True)
    page.see("Sign in to the console")
    page.expect("nothing of a user is left on the page", "ada@" not in page.text("body"))
    page.wait("the form has the focus", "document.activeElement.localName === 'input'")
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
    see_hostile(page)
    lose_network(page)
    reload(page, operator, ada, alan)
    page.look_back(gateway)


main()
