"""Names that are markup, and what the policy does to markup and scripts that would be there all the same."""

MARKUP = "<img src=x onerror=run()><script>run()</script>"


def see_hostile(console, operator, mallory):
    assert mallory.sign_in({"name": MARKUP, "model": '"><b>bold</b>'})[0] == 200
    console.value("window.run = () => { window.ran = true; }, true")
    console.go("#/users?identifier=mallory")
    console.wait_rows("Users", f"rows.length === 1 && rows[0][0] === {MARKUP!r}")
    only_text(console, "in the list")
    console.keyboard.activate(MARKUP, "a")
    console.wait_heading(MARKUP)
    console.wait_rows("Sessions", f"rows.some((row) => row[0].includes({MARKUP!r}))")
    console.wait_rows("Audit log", "rows.length > 0")
    only_text(console, "on the page")
    console.keyboard.activate("Disable…", "button")
    console.wait_dialog(f"Disable {MARKUP}?")
    only_text(console, "in a dialog")
    console.keyboard.press("Escape")
    console.go("#/audit?user=" + "%3Cimg%20src%3Dx%20onerror%3Drun()%3E")
    console.wait_heading("Audit log")
    only_text(console, "in an address")


def only_text(console, where):
    made = set(console.value("[...document.querySelectorAll('main *, dialog *')].map((each) => each.localName)"))
    text = "h1 h2 p div section form label input select option button span a code time"
    allowed = set(f"{text} table caption thead tbody tr th td dl dt dd".split())
    console.expect(f"a name that is markup is text {where}", made <= allowed, made - allowed)
    console.expect(f"nothing of it ran {where}", not console.value("window.ran"))


def try_policy(console):
    """The browser itself refuses what the console never does. It complains of each, as it should."""
    markup = "try { document.body.innerHTML = '<b>x</b>'; return 'made'; } catch (error) { return error.name; }"
    outcome = console.value(f"(() => {{ {markup} }})()")
    console.expect("markup out of text is refused", outcome == "TypeError", outcome)
    console.value(
        "document.addEventListener('securitypolicyviolation', "
        "(event) => (window.refused ??= []).push(event.effectiveDirective)), true"
    )
    for what, directive, act in (
        ("a picture of another host", "img-src", "new Image().src = 'https://other.example/x.png'"),
        ("a request to another host", "connect-src", "fetch('https://other.example/').catch(() => {})"),
        (
            "a style",
            "style-src-elem",
            "document.head.append(Object.assign(document.createElement('style'), {textContent: 'p{}'}))",
        ),
        (
            "a frame",
            "frame-src",
            "document.body.append(Object.assign(document.createElement('iframe'), {src: '/docs'}))",
        ),
    ):
        console.value(f"{act}, true")
        console.wait(f"{what} is refused", f"(window.refused ?? []).some((each) => each === {directive!r})")
        console.expect(f"{what} is refused", True)
