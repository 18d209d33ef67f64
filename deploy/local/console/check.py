"""check.py FOLDER   uses the console of a running system as an operator does, with a headless Chromium. Screenshots go
to FOLDER. The addresses of the system stand in the environment, as in .local/env; MAIL_FOLDER has its mails.

The people of test-console.sh are there.
"""

import sys
from pathlib import Path

from browser import Failed
from console import Console
from gatehouse import Person, fields_of, gateway
from helping import help_people
from hostility import see_hostile, try_policy
from sessions import keep_sessions
from trouble import have_trouble
from walk import walk


def look_at_files(console):
    status, page = fields_of("/console")
    policy = page["Content-Security-Policy"]
    console.expect("the page has a policy", status == 200 and policy.startswith("default-src 'none';"), policy)
    console.expect("nothing in the page may be run", "unsafe" not in policy and "script-src 'self'" in policy, policy)
    for name, value in {
        "Cache-Control": "no-cache",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }.items():
        console.expect(f"{name}: {value}", page[name] == value, page[name])


def look_back(console):
    console.keep()
    unseen = console.keyboard.unseen
    console.expect("one sees what has the focus", not unseen, unseen)
    # `data:` are the browser's own icons: the policy would refuse others.
    elsewhere = [url for url in console.requests if not url.startswith((gateway + "/", "about:", "data:"))]
    console.expect("no other host is asked", not elsewhere, elsewhere)
    # A browser notes every refusal of the API; each of them was wanted.
    complaints = [text for text in console.complaints if not text.startswith("Failed to load resource")]
    console.expect("the browser complains of nothing, of the policy neither", not complaints, complaints)


def main():
    operator = Person("operator@example.com", "operator password")
    # Nobody gets two codes within half a minute.
    other = Person("oskar@example.com", "oskar password")
    ada = Person("ada@example.com", "ada password")
    mallory = Person("mallory@example.com", "mallory password")
    nobody = Person("nobody@example.com", "nobody password")
    for session in (ada.sign_in({"name": "Ada's iPhone", "model": "iPhone17,1"}), ada.sign_in({"name": "Ada's iPad"})):
        assert session[0] == 200, session
    console = Console(Path(sys.argv[1]))
    try:
        look_at_files(console)
        walk(console, operator, ada)
        help_people(console, operator, ada, nobody)
        keep_sessions(console, operator, other, ada, nobody)
        have_trouble(console)
        see_hostile(console, operator, mallory)
        look_back(console)
        try_policy(console)
    except Failed as error:
        console.expect(str(error), False, console.value("document.body.innerText"))
        console.screenshot("failed")
    finally:
        console.close()
    sys.exit(bool(console.failures))


main()
