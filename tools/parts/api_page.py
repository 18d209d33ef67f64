"""What the gateway publishes of the contract, as the Swift file that is built into it: the description for programs, and
a page for people that loads nothing and runs nothing. The page is made of the Markdown that openapi.py writes, of which
this reads headings, paragraphs, code, tables, links and `code`.
"""

import base64
import hashlib
import html
import re

STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--faint:#60646c;--ground:#fff;--raised:#f3f4f6;--line:#d9dce1;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--faint:#a0a6ae;--ground:#15181c;--raised:#1f2329;--line:#363b42;\
--link:#7cb8f5}}
body{margin:0 auto;max-width:56rem;padding:1.5rem 1rem 4rem;background:var(--ground);color:var(--ink);\
font:1rem/1.55 system-ui,sans-serif}
h1,h2,h3{line-height:1.25}
h2{margin-top:3rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}
h3{margin-top:2.2rem}
a{color:var(--link)}
code,pre{font:.875rem/1.5 ui-monospace,monospace}
code{background:var(--raised);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow-x:auto}
pre code,h3 code{background:none;padding:0}
.scroll{overflow-x:auto}
table{border-collapse:collapse}
td,th{border-bottom:1px solid var(--line);padding:.35rem .8rem .35rem 0;text-align:left;vertical-align:top}
nav ul{list-style:none;padding:0;columns:18rem}
nav li{overflow-wrap:anywhere}
nav li li{color:var(--faint);font-size:.9rem}
nav ul ul{columns:1;padding-left:1rem;margin-bottom:.6rem}
nav>ul>li{break-inside:avoid}
""".replace("\\\n", "").strip()


def anchor(heading):
    """As GitHub names a heading, so that one link serves both."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def inline(text):
    """`code`, **bold** and [links](…); everything else is text."""
    made = []
    for part in re.split(r"(`[^`]*`)", text):
        if part.startswith("`") and part.endswith("`") and len(part) > 1:
            made.append(f"<code>{html.escape(part[1:-1])}</code>")
            continue
        part = html.escape(part)
        part = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", part)
        made.append(part)
    # A link's text may hold code.
    return re.sub(r"\[((?:[^\[\]]|\[\])*)\]\(([^()\s]+)\)", r'<a href="\2">\1</a>', "".join(made))


def cells(row):
    return [cell.replace("\0", "|").strip() for cell in row.replace("\\|", "\0").strip().strip("|").split("|")]


def table(rows):
    head, _, *body = (cells(row) for row in rows)
    made = ["<div class=scroll><table>"]
    if any(head):
        made.append("<tr>" + "".join(f"<th>{inline(cell)}</th>" for cell in head) + "</tr>")
    for row in body:
        made.append("<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>")
    return [*made, "</table></div>"]


def blocks(markdown):
    """(kind, text or lines) of each block."""
    lines = iter(markdown.splitlines())
    paragraph = []
    for line in lines:
        if line.startswith(("```", "#", "|")) or not line.strip():
            if paragraph:
                yield "p", " ".join(paragraph)
                paragraph = []
        if line.startswith("```"):
            code = []
            for inner in lines:
                if inner.startswith("```"):
                    break
                code.append(inner)
            yield "pre", "\n".join(code)
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            yield f"h{level}", line.lstrip("#").strip()
        elif line.startswith("|"):
            yield "row", line
        elif line.strip():
            paragraph.append(line)
    if paragraph:
        yield "p", " ".join(paragraph)


def page(markdown):
    body, contents, rows, title = [], [], [], ""
    for kind, text in [*blocks(markdown), ("end", "")]:
        if kind != "row" and rows:
            body += table(rows)
            rows = []
        if kind == "row":
            rows.append(text)
        elif kind == "pre":
            body.append(f"<pre><code>{html.escape(text)}</code></pre>")
        elif kind == "p":
            body.append(f"<p>{inline(text)}</p>")
        elif kind == "h1":
            title = text
            body.append(f"<h1>{inline(text)}</h1>\0")
        elif kind in ("h2", "h3"):
            body.append(f'<{kind} id="{anchor(text)}">{inline(text)}</{kind}>')
            if kind == "h2":
                contents.append((text, []))
            else:
                contents[-1][1].append(text)
    nav = (
        "<nav><ul>"
        + "".join(
            f"<li>{link(section)}" + (f"<ul>{''.join(f'<li>{link(entry)}' for entry in inside)}</ul>" if inside else "")
            for section, inside in contents
        )
        + "</ul></nav>"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(body).replace("\0", "\n" + nav)
        + "</body></html>\n"
    )


def link(heading):
    return f'<a href="#{anchor(heading)}">{html.escape(heading.replace("`", ""))}</a>'


def literal(text):
    """A Swift string in one line, with as many # as the text needs."""
    marks = "#"
    while f'"{marks}' in text or f"\\{marks}" in text:
        marks += "#"
    return f'{marks}"' + text.replace("\n", f"\\{marks}n") + f'"{marks}'


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def swift(description, markdown):
    made = page(markdown)
    return f"""// swift-format-ignore-file
// Made by tools/openapi.py of the descriptions in docs/openapi.

/// What the gateway publishes of the contract, built into it.
enum PublicDocumentTexts {{
    static let openAPITag = #""{digest(description)[:22]}""#
    static let pageTag = #""{digest(made)[:22]}""#
    /// Of the page's style element, for its content security policy.
    static let pageStyleHash = "sha256-{digest(STYLE)}"
    static let openAPI = {literal(description)}
    static let page = {literal(made)}
}}
"""
