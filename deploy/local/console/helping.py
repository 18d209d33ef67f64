"""Help with an identifier, a role and stores; and the proof that changes need. With the keyboard alone."""

import time

from browser import Failed
from gatehouse import age_proofs, code_for, mails


def open_person(console, person, heading):
    console.go(f"#/users/{person.id}")
    console.wait_heading(heading)
    console.wait("the person is there", "document.querySelectorAll('main section [aria-busy]').length === 0")


def set_identifier(console, ada, nobody):
    open_person(console, ada, "Ada")
    console.keyboard.activate("Add phone…", "button")
    console.wait_dialog("Add phone of Ada")
    console.expect("the field has the focus", console.keyboard.focused()["name"] == "Phone")
    console.keyboard.write_here("+49 171 1234567")
    console.keyboard.press("Enter")
    console.wait_result("Phone of Ada is set.")
    console.wait_rows("Identifiers", "rows.some((row) => row[0] === '+491711234567' && row[2] === 'yes')")
    console.keyboard.activate(f"Change {ada.identifier}", "button")
    console.wait_dialog(f"Change {ada.identifier}")
    console.keyboard.write_here(nobody.identifier)
    console.keyboard.press("Enter")
    console.wait(
        "a taken one is told in the dialog", "document.querySelector('dialog [role=alert]').textContent !== ''"
    )
    console.keyboard.write("E-mail", "ada@example.org")
    console.keyboard.press("Enter")
    console.wait_result("E-mail of Ada is set.")
    ada.identifier = "ada@example.org"
    console.expect("the person signs in with the new one", ada.sign_in()[0] == 200)


def move_identifier(console, ada, nobody):
    console.keyboard.activate("Move +491711234567", "button")
    console.wait_dialog("Move +491711234567 to another user")
    console.keyboard.write_here(nobody.id)
    console.keyboard.press("Enter")
    console.wait_dialog("Move +491711234567 to Nobody?")
    console.keyboard.activate("Move", "button")
    console.wait_result("+491711234567 now belongs to Nobody.")
    console.wait_rows("Identifiers", "rows.length === 1")
    open_person(console, nobody, "Nobody")
    console.wait_rows("Identifiers", "rows.length === 2")
    console.keyboard.activate("Remove +491711234567", "button")
    console.wait_dialog("Remove +491711234567?")
    console.keyboard.activate("Remove", "button")
    console.wait_result("+491711234567 is removed.")
    console.wait_rows("Identifiers", "rows.length === 1")


def set_rights(console, nobody):
    console.keyboard.activate("Change role…", "button")
    console.wait_dialog("Change the role of Nobody")
    console.keyboard.write_here("courier")
    console.keyboard.press("Enter")
    console.wait_result("The role of Nobody is changed.")
    console.keyboard.activate("Change stores…", "button")
    console.wait_dialog("Change the stores of Nobody")
    console.keyboard.write_here("berlin, haifa")
    console.keyboard.press("Enter")
    console.wait_result("The stores of Nobody are changed.")
    user = nobody.sign_in()[1]["user"]
    console.expect("they are so", (user["role"], user["storeIds"]) == ("courier", ["berlin", "haifa"]), user)


def spend_token(console):
    """The page's clock goes forward until the token has to be renewed."""
    console.value("performance.now = ((now) => () => now() + 4e6)(performance.now.bind(performance)), true")


def prove_by_password(console, operator, nobody):
    age_proofs()
    spend_token(console)
    console.keyboard.activate("Disable…", "button")
    console.wait_dialog("Disable Nobody?")
    console.keyboard.activate("Disable", "button")
    console.wait_dialog("Confirm your identity")
    console.inspect("the proof")
    console.screenshot("proof")
    console.keyboard.press("Escape")
    console.wait_dialog("Disable Nobody?")
    console.wait_dialog_trouble("Nothing was changed.")
    console.expect("nothing was changed", nobody.sign_in()[0] == 200)
    console.keyboard.press("Enter")
    console.wait_dialog("Confirm your identity")
    console.keyboard.write_here("not the password")
    console.keyboard.press("Enter")
    console.wait(
        "a wrong password is told",
        "[...document.querySelectorAll('dialog')].at(-1).querySelector('[role=alert]').textContent !== ''",
    )
    console.keyboard.write("Your password", operator.password)
    console.keyboard.press("Enter")
    console.wait_result("Nobody is disabled.")
    console.expect("the call was repeated", nobody.sign_in()[0] == 403)
    console.expect("no dialog is left", console.dialogs() == 0)


def prove_by_code(console, operator):
    before = operator.sessions()
    age_proofs()
    spend_token(console)
    console.keyboard.activate("Enable…", "button")
    console.wait_dialog("Enable Nobody?")
    console.keyboard.press("Enter")
    console.wait_dialog("Confirm your identity")
    console.keyboard.activate(f"Send a code to {operator.identifier} instead", "button")
    console.wait(
        "how is told",
        f"document.querySelector('dialog:last-of-type').innerText.includes('will be sent to {operator.identifier}')",
    )
    known = mails()
    console.keyboard.press("Enter")
    console.wait(
        "the code is asked for", "[...document.querySelectorAll('dialog')].at(-1).innerText.includes('is on its way')"
    )
    console.keyboard.write_here(new_code(operator.identifier, known))
    console.keyboard.press("Enter")
    console.wait_result("Nobody is enabled.")
    console.expect("it is the same session", operator.sessions() == before, operator.sessions())


def new_code(address, known):
    deadline = time.monotonic() + 20
    while not (code := code_for(address, known)):
        if time.monotonic() > deadline:
            raise Failed(f"no code comes to {address}")
        time.sleep(0.1)
    return code


def leave_self_alone(console, operator):
    open_person(console, operator, "Olga")
    text = console.value("document.querySelector('main').innerText")
    console.expect("nobody disables themselves", "This is you." in text and "Disable…" not in text, text)


def help_people(console, operator, ada, nobody):
    set_identifier(console, ada, nobody)
    move_identifier(console, ada, nobody)
    set_rights(console, nobody)
    prove_by_password(console, operator, nobody)
    prove_by_code(console, operator)
    leave_self_alone(console, operator)
