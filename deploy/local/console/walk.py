"""The walk: sign in, find, disable, sign out, see it in the audit. With the keyboard alone."""

from gatehouse import call


def sign_in(console, operator):
    console.open()
    title = console.value("document.querySelector('h1').textContent")
    console.expect("the form says what it is for", title == "Sign in to the console", title)
    console.expect("the first field has the focus", console.keyboard.focused()["name"] == "E-mail or phone")
    console.inspect("signing in")
    console.keyboard.write_here(operator.identifier)
    console.keyboard.write("Password", "not the password")
    console.keyboard.press("Enter")
    console.wait("a wrong password is told", "document.getElementById('trouble').textContent !== ''")
    console.keyboard.reach("E-mail or phone", back=True)
    console.sign_in(operator, "Users")
    console.expect("trouble that is over is gone", console.trouble() == "", console.trouble())
    console.wait_rows("Users", "rows.length === 50")


def find(console, ada):
    console.inspect("people")
    console.keyboard.activate("Show more")
    console.wait_rows("Users", "rows.length > 50")
    focused = console.keyboard.focused()
    row = console.rows("Users")[50][0]
    console.expect("the first of the further people has the focus", focused["name"] == row, focused)
    console.keep()
    console.keyboard.reach("E-mail or phone, from its beginning", back=True)
    for letter in "ada@":
        console.browser.type(letter)
    console.wait_rows("Users", "rows.length === 1")
    row = console.rows("Users")[0]
    console.expect("the person is found", row[:2] == ["Ada", ada.identifier] and row[3] == "Active", row)
    asked = [url for url in console.browser.requests if "identifier=" in url]
    console.expect("it is asked once for what is typed at once", len(asked) == 1, asked)
    console.expect("the address says what is searched", console.value("location.hash") == "#/users?identifier=ada%40")
    told = console.value("document.querySelector('main [role=status]').textContent")
    console.expect("the number is told", told == "1 user.", told)
    console.screenshot("people")
    console.keyboard.activate("Ada", "a")
    console.wait_heading("Ada")


def see(console, ada):
    console.wait_rows("Sessions", "rows.length === 2")
    console.expect("the title tells who", console.value("document.title") == "Ada – Gatehouse console")
    console.expect("the id is there", console.fact("Id") == ada.id, console.fact("Id"))
    names = {row[0] for row in console.rows("Sessions")}
    console.expect("the sessions are there", names == {"Ada's iPhone, iPhone17,1", "Ada's iPad"}, names)
    console.wait_rows("Audit log", "rows.some((row) => row[1] === 'Signed in')")
    console.inspect("a person")
    for scheme in ("light", "dark"):
        console.screenshot(f"person-{scheme}", scheme, whole=True)


def disable(console, ada):
    console.keyboard.activate("Disable…", "button")
    console.wait_dialog("Disable Ada?")
    text = console.dialog_text()
    console.expect("the dialog says what will happen", "signed out on every device" in text, text)
    console.expect("what does nothing has the focus", console.keyboard.focused()["name"] == "Cancel")
    console.inspect("a dialog")
    console.screenshot("dialog")
    console.keyboard.press("Escape")
    console.wait("Escape closes the dialog", "!document.querySelector('dialog')")
    focused = console.keyboard.focused()
    console.expect("the focus is where it was", focused["name"] == "Disable…", focused)
    console.expect("Escape does nothing", ada.sign_in()[0] == 200)
    console.keyboard.press("Enter")
    console.wait_dialog("Disable Ada?")
    console.keyboard.activate("Disable", "button")
    console.wait_result("Ada is disabled.")
    focused = console.keyboard.focused()
    console.expect("the section that changed has the focus", focused["name"] == "Account", focused)
    console.expect("the state is shown", console.fact("State") == "Disabled", console.fact("State"))
    console.wait("the sessions are gone", "document.querySelector('main').innerText.includes('Signed in nowhere.')")
    status, answer = ada.sign_in()
    console.expect("the person cannot sign in", (status, answer["code"]) == (403, "ACCOUNT_DISABLED"), answer)
    console.inspect("a disabled person")


def enable(console, ada):
    console.keyboard.activate("Enable…", "button")
    console.wait_dialog("Enable Ada?")
    console.keyboard.press("Enter")
    console.wait_result("Ada is enabled.")
    console.expect("the person can sign in again", ada.sign_in()[0] == 200)


def sign_out(console, ada):
    _, phone = ada.sign_in({"name": "Ada's iPhone"})
    _, tablet = ada.sign_in({"name": "Ada's iPad"})
    console.go("#/users")
    console.wait_heading("Users")
    console.go(f"#/users/{ada.id}")
    console.wait_heading("Ada")
    console.wait_rows("Sessions", "rows.length === 3")
    console.keyboard.activate("Sign out of Ada's iPad", "button")
    console.wait_dialog("Sign Ada out of Ada's iPad?")
    console.keyboard.activate("Sign out", "button")
    console.wait_result("Ada is signed out of Ada's iPad.")
    console.expect("one session is gone", len(console.rows("Sessions")) == 2, console.rows("Sessions"))
    refused = refresh(tablet)
    console.expect("its refresh token is worth nothing", refused == (401, "INVALID_REFRESH_TOKEN"), refused)
    console.expect("the other one lives", refresh(phone)[0] == 200)
    console.keyboard.activate("Sign out everywhere…", "button")
    console.wait_dialog("Sign Ada out everywhere?")
    console.keyboard.activate("Sign out everywhere", "button")
    console.wait_result("Ada is signed out everywhere.")
    refused = refresh(phone)
    console.expect("no session lives", refused == (401, "INVALID_REFRESH_TOKEN"), refused)


def refresh(answer):
    status, value = call("POST", "/v1/auth/refresh", {"refreshToken": answer["refreshToken"]})
    return status, (value or {}).get("code")


def see_audit(console, operator, ada):
    console.keyboard.activate("All entries, with operators' views", "a")
    console.wait_heading("Audit log")
    console.wait_rows("Audit log", "rows.length > 4")
    console.keyboard.reach("Action")
    # The first action with this letter.
    console.keyboard.press("d")
    chosen = console.value("document.activeElement.value")
    console.expect("a key chooses", chosen == "disabled", chosen)
    console.keyboard.activate("Show", "button")
    console.wait_rows("Audit log", "rows.length === 1 && rows[0][1] === 'Disabled'")
    row = console.rows("Audit log")[0]
    console.expect("the audit says whom", row[2] == ada.id[:8], row)
    console.expect("and who did it", row[3] == f"Operator {operator.id[:8]}", row)
    console.inspect("the audit")
    console.go(f"#/audit?user={ada.id}")
    console.wait_rows("Audit log", "rows.length > 4")
    console.screenshot("audit")


def walk(console, operator, ada):
    sign_in(console, operator)
    find(console, ada)
    see(console, ada)
    disable(console, ada)
    enable(console, ada)
    sign_out(console, ada)
    see_audit(console, operator, ada)
