"""What a view has to be for people who see little, or nothing."""

# Text that contrasts with its ground less than 4.5 to 1 (WCAG 2.2, 1.4.3). Disabled controls need not.
CONTRAST = """(() => {
    const channel = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
    const parts = (color) => color.match(/[\\d.]+/g).map(Number);
    const over = ([red, green, blue, alpha = 1], ground) =>
        [red, green, blue].map((value, place) => value * alpha + ground[place] * (1 - alpha));
    const ground = (element) => {
        if (!element) return [255, 255, 255];
        const color = parts(getComputedStyle(element).backgroundColor);
        return (color[3] ?? 1) === 1 ? color.slice(0, 3) : over(color, ground(element.parentElement));
    };
    const opacity = (element) => (element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1);
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const text = walker.currentNode.textContent.trim();
        if (!text || !element.checkVisibility() || element.closest(":disabled, script, noscript, option")) continue;
        const behind = ground(element);
        const color = parts(getComputedStyle(element).color);
        const front = over([...color.slice(0, 3), (color[3] ?? 1) * opacity(element)], behind);
        const [one, other] = [light(front), light(behind)];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) found.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return found;
})()"""

# What has no heading, label, landmark or header that it needs, and what is wider than the window.
STRUCTURE = """(() => {
    const found = [];
    const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    const levels = all("main h1, main h2, main h3").map((each) => Number(each.localName[1]));
    if (levels[0] !== 1 || levels.filter((each) => each === 1).length !== 1) found.push(`headings: ${levels}`);
    const isLeft = levels.some((each, place) => place && each > levels[place - 1] + 1);
    if (isLeft) found.push(`levels are left out: ${levels}`);
    for (const each of all("input, select")) if (!each.labels.length) found.push(`no label: ${each.name}`);
    for (const each of all("table")) {
        if (!each.caption?.textContent) found.push("a table without caption");
        const head = [...each.tHead.rows[0].cells];
        if (head.some((cell) => cell.localName !== "th" || cell.scope !== "col")) found.push("a column without header");
        if ([...each.tBodies[0].rows].some((row) => row.cells[0].scope !== "row")) found.push("a row without header");
        if ([...each.rows].some((row) => row.cells.length !== head.length)) found.push("a row that is too short");
    }
    for (const landmark of ["header", "main"]) if (all(landmark).length !== 1) found.push(`not one ${landmark}`);
    if (!document.documentElement.lang) found.push("no language");
    if (!document.title) found.push("no title");
    const names = [...document.querySelectorAll("[id]")].map((each) => each.id);
    if (new Set(names).size !== names.length) found.push("an id twice");
    for (const name of ["result", "trouble"]) {
        const role = document.getElementById(name).getAttribute("role");
        if (!["status", "alert"].includes(role)) found.push(`${name} is not read out`);
    }
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.push(`wider than the window: ${root.scrollWidth}`);
    return found;
})()"""

# Roles whose holder has to have a name.
NAMED = {"button", "link", "textbox", "searchbox", "combobox", "dialog", "navigation", "heading", "table"}


def nameless(browser):
    """As the browser tells screen readers."""
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    return [role for role, name in told if role in NAMED and not name.strip()]


def findings(browser):
    """By day and by night."""
    found = browser.value(STRUCTURE) + [f"has no name: {role}" for role in nameless(browser)]
    for scheme in ("dark", "light"):
        browser.scheme(scheme)
        found += [f"{scheme}: {text}" for text in browser.value(CONTRAST)]
    return found
