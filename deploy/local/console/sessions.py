"""The operator's own session: a code instead of the password, links, reloads, signing out, and who is no operator."""

from gatehouse import Person, age_proofs, call, mails
from helping import new_code, spend_token


def renew(console):
    """Going on when the access token is about to end."""
    console.keep()
    spend_token(console)
    console.go("#/users")
    console.wait_heading("Users")
    console.wait_rows("Users", "rows.length > 1")
    asked = [url for url in console.browser.requests if url.endswith("/auth/refresh")]
    console.expect("the token is renewed once", len(asked) == 1, asked)


def reload(console, operator, ada):
    before = operator.sessions()
    console.go(f"#/users/{ada.id}")
    console.wait_heading("Ada")
    console.keep()
    console.browser.command("Page.reload")
    console.wait("signing in again", "Boolean(document.querySelector('main input[name=password]'))")
    console.expect("the session that was left has ended", operator.sessions() == before - 1, operator.sessions())
    kept = console.value("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    console.expect("the browser keeps nothing", kept == '[{},{},""]', kept)
    console.sign_in(operator, "Ada")
    console.expect("the link leads on", console.value("location.hash") == f"#/users/{ada.id}")


def leave(console, operator):
    before = operator.sessions()
    console.keyboard.activate("Sign out", "button", back=True)
    console.wait("the form", "Boolean(document.querySelector('main input[name=password]'))")
    console.expect("the session ended", operator.sessions() == before - 1, operator.sessions())
    text = console.value("document.body.innerText")
    console.expect("nothing of anybody is left on the page", "ada@" not in text and "Olga" not in text, text)


def end_elsewhere(console, operator):
    """The operator signs out everywhere, in the app."""
    console.sign_in(operator, "Ada")
    _, answer = operator.sign_in()
    status, _ = call("POST", "/v1/auth/logout-all", {}, answer["accessToken"])
    assert status == 204, status
    spend_token(console)
    console.go("#/audit")
    console.wait_result("Your session has ended. Sign in again.")


def sign_in_with_code(console, operator):
    console.open("#/overview")
    console.keyboard.activate("Sign in with a code", "button")
    console.inspect("asking for a code")
    known = mails()
    console.keyboard.write("E-mail or phone", operator.identifier)
    console.keyboard.press("Enter")
    console.wait("the code is asked for", "Boolean(document.querySelector('input[name=code]'))")
    console.keyboard.write_here(new_code(operator.identifier, known))
    console.keyboard.press("Enter")
    console.wait_heading("Overview")


def refuse(console, nobody):
    console.open()
    console.sign_in(nobody, "Not for this account")
    text = console.value("document.querySelector('main').innerText")
    console.expect("it says who signed in, and that this is no operator", "Nobody is signed in" in text, text)
    console.expect("there is nowhere to go", console.value("document.getElementById('places').hidden"))
    console.inspect("a refusal")
    console.keyboard.activate("Sign out", "button", back=True)
    console.wait("the form", "Boolean(document.querySelector('main input[name=password]'))")


def refuse_unverified(console, operator, ada):
    """A code goes to verified addresses alone: whoever reads at another need not be the operator."""
    identifier, password = "fay@example.com", "fay password"
    status, answer = call("POST", "/v1/auth/register", {"identifier": identifier, "password": password})
    assert status == 201, answer
    _, own = operator.sign_in()
    path = f"/v1/admin/users/{answer['user']['id']}"
    status, answer = call("PATCH", path, {"role": "operator"}, own["accessToken"])
    assert status == 200, answer
    fay = Person(identifier, password)
    console.open(f"#/users/{ada.id}")
    console.sign_in(fay, "Ada")
    age_proofs()
    spend_token(console)
    console.keyboard.activate("Sign out everywhere…", "button")
    console.wait_dialog("Sign Ada out everywhere?")
    console.keyboard.activate("Sign out everywhere", "button")
    console.wait_dialog("Confirm your identity")
    text = console.value("[...document.querySelectorAll('dialog')].at(-1).innerText")
    console.expect("it says that no code can be sent", "No code can be sent" in text, text)
    console.expect("none is offered", "Send a code" not in text, text)
    console.keyboard.press("Escape")
    console.wait_dialog("Sign Ada out everywhere?")
    console.wait_dialog_trouble("Nothing was changed.")
    console.keyboard.press("Escape")
    console.wait("Escape closes the dialog", "!document.querySelector('dialog')")
    console.keyboard.activate("Sign out", "button", back=True)
    console.wait("the form", "Boolean(document.querySelector('main input[name=password]'))")


def keep_sessions(console, operator, other, ada, nobody):
    renew(console)
    reload(console, operator, ada)
    leave(console, operator)
    end_elsewhere(console, operator)
    refuse(console, nobody)
    refuse_unverified(console, operator, ada)
    sign_in_with_code(console, other)
