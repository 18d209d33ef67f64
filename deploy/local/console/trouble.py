"""Limits, outages, and figures that come on their own."""

import json
import time


def refusal(status, code, detail, seconds):
    body = {"type": "about:blank", "title": code, "status": status, "detail": detail, "code": code, "requestId": "1"}
    return status, {"Content-Type": "application/problem+json", "Retry-After": str(seconds)}, json.dumps(body)


def poll(console):
    console.wait("figures are there", "document.querySelectorAll('dt').length === 6")
    console.wait("charts are there", "document.querySelectorAll('svg.chart').length === 3")
    bars = console.value("[...document.querySelectorAll('svg.chart')].map((each) => each.querySelectorAll('rect').length)")
    console.expect("each chart has a bar for each of 24 hours", bars == [24, 24, 24], bars)
    names = console.value("[...document.querySelectorAll('svg.chart')].map((each) => each.getAttribute('aria-label'))")
    console.expect(
        "each chart has a name",
        [name.split(" in ")[0] for name in names] == ["Sign-ins", "Refused sign-ins", "Registrations"],
        names,
    )
    height = console.value("document.querySelector('svg.chart rect:last-of-type').getBoundingClientRect().height")
    console.expect("the present hour has sign-ins", height > 1, height)
    console.value("document.querySelector('details').open = true")
    console.wait_rows("Counts of each hour", "rows.length === 24 && Number(rows[0][1]) > 0")
    console.inspect("overview")
    console.screenshot("overview")
    console.keep()
    console.wait(
        "they come again",
        "performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/figures')).length >= 3",
    )
    told = console.fact("Disabled")
    console.expect("nobody is disabled", told == "0", told)


def hide(console):
    """Nobody looks: nothing is asked."""
    console.value(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true}), "
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    time.sleep(1)
    console.keep()
    time.sleep(7)
    console.value("1")
    asked = [url for url in console.browser.requests if url.endswith("/figures")]
    console.expect("nothing is asked while nobody looks", not asked, asked)
    console.value("delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))")
    console.wait(
        "it goes on",
        "performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/figures')).length >= 4",
    )


def refuse(console):
    console.browser.pretend({"/admin/figures": refusal(503, "UNAVAILABLE", "Gatehouse is busy.", 9)})
    console.wait(
        "an outage is told",
        "document.querySelector('main [role=alert]').textContent === 'Gatehouse is busy. Try again in 9 seconds.'",
    )
    console.expect("the figures stay, and fade", console.value("document.querySelector('.stale dt') !== null"))
    console.inspect("stale figures")
    console.keep()
    time.sleep(7)
    console.value("1")
    asked = [url for url in console.browser.requests if url.endswith("/figures")]
    console.expect("it waits as long as it is told to", not asked, asked)
    console.browser.pretend({})
    console.wait("it recovers", "document.querySelector('main [role=alert]').textContent === ''")


def limit(console):
    console.browser.pretend({"/admin/users?": refusal(429, "RATE_LIMITED", "There were too many requests.", 120)})
    console.go("#/users?identifier=a")
    console.wait(
        "a limit is told",
        "document.querySelector('#found [role=alert]')?.textContent"
        " === 'There were too many requests. Try again in 2 minutes.'",
    )
    console.browser.pretend({})
    console.keyboard.activate("Try again", "button")
    console.wait_rows("Users", "rows.length >= 1")


def lose_gateway(console):
    console.browser.pretend(
        {"/admin/": (502, {"Content-Type": "text/html"}, "<h1>nginx: upstream prematurely closed</h1>")}
    )
    console.go("#/audit")
    console.wait(
        "it is told without technical matter",
        "document.querySelector('main [role=alert]')?.textContent === 'Something went wrong. Try again later.'",
    )
    console.browser.pretend({})
    console.browser.command(
        "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
    )
    console.keyboard.activate("Try again", "button")
    console.wait(
        "nothing answers, and that is told",
        "document.querySelector('main [role=alert]')?.textContent.startsWith('Gatehouse cannot be reached.')",
    )
    console.browser.command(
        "Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1
    )
    console.keyboard.activate("Try again", "button")
    console.wait_rows("Audit log", "rows.length > 1")


def not_found(console):
    console.go("#/users/00000000-0000-4000-8000-000000000000")
    console.wait_heading("This cannot be shown")
    console.expect("why is told", console.trouble() != "")


def have_trouble(console):
    poll(console)
    hide(console)
    refuse(console)
    limit(console)
    lose_gateway(console)
    not_found(console)
