"""openapi.py [--check]   makes docs/openapi/public.json, docs/api.md and what the gateway publishes of both
(PublicDocumentTexts.swift) of the services' descriptions in docs/openapi.

The sources are docs/openapi/common.json, gateway.json, identity.json, tokens.json and devices.json. The public
description is the gateway's own routes and the services' public ones, each with what the gateway may answer in the
service's place (`x-edge` in gateway.json). --check writes nothing and fails where a file is not as it would be written,
the sources' layout included.

What is ours in these files:
    x-codes             the codes that an answer can have
    x-extensible-enum   values of which there may be more tomorrow
    x-callers           who may call an internal route
    x-admin             the same path on the gateway's admin port, where it answers otherwise
    x-curl              what the example in docs/api.md needs. A route without it has none.
        before          lines in front
        uses            a field or parameter: the variable in its place
        gives           a variable: where it is in the answer, for jq
        endsSessions    the bearer serves no longer
"""

import copy
import json
import sys
import textwrap
from pathlib import Path

root = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tools" / "parts"))
import api_page  # noqa: E402

folder = root / "docs" / "openapi"
SERVICES = ("identity", "tokens", "devices")
SOURCES = ("common", "gateway", *SERVICES)
METHODS = ("get", "put", "post", "delete", "head", "patch")
WIDTH = 120


def load(name):
    return json.loads((folder / f"{name}.json").read_text())


def formatted(value):
    """JSON in which whatever fits into a line stands in one."""
    return layout(value, 0, 0) + "\n"


def layout(value, indent, taken):
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + taken + len(line) < WIDTH and "\n" not in line:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, list):
        parts = [inner + layout(item, indent + 2, 1) for item in value]
    else:
        parts = []
        for key, item in value.items():
            name = json.dumps(key, ensure_ascii=False) + ": "
            parts.append(inner + name + layout(item, indent + 2, len(name) + 1))
    first, last = ("[", "]") if isinstance(value, list) else ("{", "}")
    return first + "\n" + ",\n".join(parts) + "\n" + " " * indent + last


def operations(document):
    """(path, method, operation) in the order of the file."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def is_public(path):
    """Of a service's own paths."""
    return not path.startswith(("/internal", "/metrics", "/livez", "/readyz"))


def on_admin_port(item):
    """Paths there name their server."""
    return "servers" in item


def published(document):
    """As the gateway serves it: at the address that it is asked at."""
    return {**document, "servers": [{"url": "/", "description": "The gateway that serves this description."}]}


def references(value):
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def within(value):
    """The same with references into common.json as references into the document."""
    if isinstance(value, dict):
        return {key: item.removeprefix("common.json") if key == "$ref" else within(item) for key, item in value.items()}
    return [within(item) for item in value] if isinstance(value, list) else value


# --- the public description


class Merge:
    def __init__(self):
        sources = {name: within(load(name)) for name in SOURCES}
        self.gateway = sources["gateway"]
        self.services = [sources[name] for name in SERVICES]
        self.components = copy.deepcopy(sources["common"]["components"])
        for service in self.services:
            for kind, entries in service["components"].items():
                for name, entry in entries.items():
                    # What is only a reference to common.json is there already.
                    if entry != {"$ref": f"#/components/{kind}/{name}"}:
                        assert name not in self.components[kind], f"{name} is described twice"
                        self.components[kind][name] = entry
        self.said = {
            response["x-codes"][0]: response["description"]
            for response in self.components["responses"].values()
            if len(response["x-codes"]) == 1
        }
        self.responses = {}

    def document(self):
        edge = self.gateway["x-edge"]
        paths = {}
        for service in self.services:
            for path, method, operation in operations(service):
                if not is_public(path):
                    continue
                form = "routeOAuth" if path.startswith("/oauth/") else "route"
                added = [edge["head"], edge[form]]
                if operation["security"] == [{"bearer": []}]:
                    added.append(edge["bearer"])
                paths.setdefault(path, {})[method] = self.with_edge(operation, added)
        for path, method, operation in operations(self.gateway):
            if not on_admin_port(self.gateway["paths"][path]):
                paths.setdefault(path, {})[method] = self.with_edge(operation, [edge["head"]])
        order = [tag["name"] for tag in self.gateway["tags"]]
        first = {
            path: min(order.index(operation["tags"][0]) for operation in item.values()) for path, item in paths.items()
        }
        document = {
            "openapi": self.gateway["openapi"],
            "info": {
                **self.gateway["info"],
                "title": "Gatehouse",
                "description": " ".join(PUBLIC_DESCRIPTION.split()),
            },
            "servers": self.gateway["servers"],
            "tags": [tag for position, tag in enumerate(self.gateway["tags"]) if position in first.values()],
            # Python's sort is stable: within a tag the order of the sources.
            "paths": dict(sorted(paths.items(), key=lambda entry: first[entry[0]])),
        }
        document["components"] = self.used(document)
        return document

    def with_edge(self, operation, added):
        operation = copy.deepcopy(operation)
        responses = {status: [response] for status, response in operation["responses"].items()}
        for answers in added:
            for status, response in answers["responses"].items():
                responses.setdefault(status, []).append(response)
        operation["responses"] = {status: self.merged(responses[status]) for status in sorted(responses)}
        return operation

    def merged(self, answers):
        """One response for all that a status can mean. Those that several routes share become components."""
        resolved = []
        for answer in answers:
            answer = self.resolve(answer)
            if answer not in resolved:
                resolved.append(answer)
        if len(resolved) == 1 and "x-codes" not in resolved[0]:
            return resolved[0]
        codes, contents = [], {}
        for answer in resolved:
            codes += [code for code in answer.get("x-codes", []) if code not in codes]
            for media, content in answer.get("content", {}).items():
                contents.setdefault(media, content)
        names = list(dict.fromkeys(name for answer in resolved for name in answer["headers"]))
        headers = {}
        for name in names:
            having = [answer["headers"][name] for answer in resolved if name in answer["headers"]]
            headers[name] = having[0] if len(having) == len(resolved) else self.optional(having[0])
        told = [f"`{code}`: {self.said[code]}" for code in codes if code in self.said]
        distinct = list(dict.fromkeys(answer["description"] for answer in resolved))
        description = " ".join(told if len(told) == len(codes) > 1 else distinct)
        response = {"description": description, "x-codes": codes, "headers": headers, "content": contents}
        name = "Or".join("".join(word.capitalize() for word in code.split("_")) for code in codes)
        if self.responses.setdefault(name, response) != response:
            return response
        return {"$ref": f"#/components/responses/{name}"}

    def optional(self, header):
        header = self.resolve(header)
        return {key: item for key, item in header.items() if key != "required"}

    def resolve(self, value):
        while "$ref" in value:
            _, _, kind, name = value["$ref"].split("/")
            value = self.components[kind][name]
        return value

    def used(self, document):
        """The components that the document refers to, and those that they refer to."""
        available = {**self.components, "responses": self.responses}
        wanted, seen = list(references(document)), set()
        schemes = {name for _, _, operation in operations(document) for need in operation["security"] for name in need}
        wanted += [f"#/components/securitySchemes/{name}" for name in schemes]
        while wanted:
            reference = wanted.pop()
            if reference not in seen:
                seen.add(reference)
                _, _, kind, name = reference.split("/")
                wanted += references(available[kind][name])
        return {
            kind: {name: entry for name, entry in entries.items() if f"#/components/{kind}/{name}" in seen}
            for kind, entries in available.items()
            if any(f"#/components/{kind}/{name}" in seen for name in entries)
        }


PUBLIC_DESCRIPTION = """
The API of Gatehouse at the gateway. Each path below `/v1` also exists below `/api/v1`, unless `GATEWAY_BASE_PATHS`
says otherwise. Bodies are JSON in UTF-8. Unknown fields of a request are ignored, and `null` in an optional field
counts as absent. New values may be added where `x-extensible-enum` stands: clients must accept unknown values.
`x-codes` lists the codes that a response can have.
"""


def public():
    """The public description, with what the examples need."""
    return Merge().document()


def without_examples(document):
    document = copy.deepcopy(document)
    for _, _, operation in operations(document):
        operation.pop("x-curl", None)
    return document


# --- docs/api.md


def resolve(document, value):
    while "$ref" in value:
        target = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = {**target, **{key: item for key, item in value.items() if key != "$ref"}}
    return value


def media_of(operation):
    content = operation.get("requestBody", {}).get("content", {})
    return next(iter(content.items()), (None, {}))


def success(operation):
    return next((status, answer) for status, answer in operation["responses"].items() if status.startswith("2"))


def sign_in(document):
    return document["paths"]["/v1/auth/login"]["post"]


def curl(path, method, operation):
    """The lines of the example."""
    example = operation["x-curl"]
    uses = example.get("uses", {})
    target = path
    for parameter in operation["parameters"]:
        if parameter.get("in") == "path":
            name = parameter["name"]
            value = f"${uses[name]}" if name in uses else parameter["example"]
            target = target.replace("{" + name + "}", value)
    words = []
    media, content = media_of(operation)
    has_body = "example" in content
    if method not in ("get", "post") or method == "post" and not has_body:
        words.append(f"-X {method.upper()}")
    words.append(f"$GATEWAY_URL{target}")
    if operation["security"] == [{"bearer": []}]:
        words.append('-H "Authorization: Bearer $ACCESS_TOKEN"')
    if has_body and media == "application/json":
        words.append("-H 'Content-Type: application/json'")
        values = {name: "\0" + uses[name] if name in uses else value for name, value in content["example"].items()}
        text = json.dumps(values, ensure_ascii=False).replace("'", "'\\''")
        for variable in uses.values():
            text = text.replace(f'"\\u0000{variable}"', f"\"'${variable}'\"")
        words.append(f"-d '{text}'")
    elif has_body:
        for name, value in content["example"].items():
            words.append(f"-d {name}=${uses[name]}" if name in uses else f"-d {name}={value}")
    gives = example.get("gives", {})
    lines = wrapped_command(words, "ANSWER=$(curl -sS" if gives else "curl -sS", ")" if gives else "")
    lines += [f'{variable}=$(echo "$ANSWER" | jq -r {jq})' for variable, jq in gives.items()]
    return example.get("before", []) + lines


def wrapped_command(words, line, end):
    lines = []
    for word in words:
        if len(line) + len(word) + 4 > WIDTH:
            lines.append(line + " \\")
            line = "  " + word
        else:
            line += " " + word
    return [*lines, line + end]


def shape(document, schema):
    """A field's type in words."""
    schema = resolve(document, schema)
    for alternative in schema.get("anyOf", []):
        if alternative != {"type": "null"}:
            return shape(document, alternative)
    values = [value for value in schema.get("enum", schema.get("x-extensible-enum", [])) if value is not None]
    if values:
        return " \\| ".join(f"`{value}`" for value in values)
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "object")
    kind = next(word for word in kind if word != "null") if isinstance(kind, list) else kind
    if kind == "array":
        return f"list of {shape(document, schema['items'])}"
    if kind == "object" and schema.get("properties"):
        return "`{" + ", ".join(schema["properties"]) + "}`"
    return {"string": "text", "integer": "whole number"}.get(kind, kind)


def described(document, schema):
    if "description" in schema:
        return schema["description"]
    for alternative in schema.get("anyOf", []):
        if alternative != {"type": "null"}:
            return described(document, alternative)
    return resolve(document, schema).get("description", "")


def fields(document, schema):
    schema = resolve(document, schema)
    if not schema.get("properties"):
        return []
    rows = ["| field | | |", "|---|---|---|"]
    for name, field in schema["properties"].items():
        optional = "" if name in schema.get("required", []) else "optional: "
        rows.append(f"| `{name}` | {optional}{shape(document, field)} | {described(document, field)} |")
    return [*rows, ""]


def paragraph(text):
    return [*textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False), ""]


def codes_by_status(document, operation):
    for status, answer in operation["responses"].items():
        for code in resolve(document, answer).get("x-codes", []):
            yield status, code


def section(document, path, method, operation, everywhere):
    lines = [f"### `{method.upper()} {path}`", "", f"**{operation['summary']}.**"]
    bearer = {1: " Needs a bearer.", 2: " A bearer is optional."}.get(len(operation["security"]), "")
    lines = [*lines[:2], *paragraph(lines[2] + bearer + " " + operation.get("description", ""))]
    _, content = media_of(operation)
    lines += fields(document, content.get("schema", {}))
    example = operation.get("x-curl")
    if example is not None:
        lines += ["```sh", *curl(path, method, operation), "```", ""]
    status, answer = success(operation)
    body = next(iter(answer.get("content", {}).values()), {})
    lines += paragraph(f"{status}: {answer['description']}")
    if "schema" in body:
        name = resolve_name(body["schema"])
        if "example" in body:
            lines += ["```json", formatted(body["example"]).rstrip(), "```", ""]
        if name:
            lines += [f"All of its fields: [{name}](#{name.lower()}).", ""]
    codes = [
        f"{status} `{code}`"
        for status, code in codes_by_status(document, operation)
        if (status, code) not in everywhere
    ]
    lines += paragraph("Errors: " + ", ".join([*codes, "[those of every route](#errors)"]) + ".")
    if example and example.get("endsSessions"):
        lines += paragraph("This ends the session: sign in again (`POST /v1/auth/login`) before you go on.")
    return lines


def resolve_name(schema):
    return schema.get("$ref", "").rpartition("/")[2]


def answers_of_routes(document):
    """The schemas of answers that succeed and those within them."""
    wanted = [reference for _, _, operation in operations(document) for reference in references(success(operation)[1])]
    seen = []
    while wanted:
        name = wanted.pop(0).partition("#/components/schemas/")[2]
        if name and name not in seen:
            seen.append(name)
            wanted += references(document["components"]["schemas"][name])
    return sorted(name for name in seen if document["components"]["schemas"][name].get("properties"))


def markdown(document, introduction, everything=False):
    """In words, for people: the routes that have an example, or all of them."""
    common = within(load("common"))
    examples = [entry for entry in operations(document) if "x-curl" in entry[2] or everything and entry[1] != "head"]
    # A HEAD request is the GET of the same path; health has no limits in front of it.
    of_each = [
        set(codes_by_status(document, operation))
        for path, _, operation in examples
        if path.startswith("/v1/") and "x-curl" in operation
    ]
    everywhere = set.intersection(*of_each)
    lines = [
        *introduction,
        "",
        *(line for text in RULES.split("\n\n") for line in paragraph(text)),
        "## Authorization",
        "",
        *(line for text in AUTHORIZATION.split("\n\n") for line in paragraph(text)),
        "## Errors",
        "",
        *paragraph(ERRORS),
        "```json",
        formatted(
            common["components"]["responses"]["InvalidRequest"]["content"]["application/problem+json"]["example"]
        ).rstrip(),
        "```",
        "",
        "| status | `code` | |",
        "|---|---|---|",
    ]
    rows = []
    for response in common["components"]["responses"].values():
        for media, content in response["content"].items():
            if media == "application/problem+json":
                code, status = response["x-codes"][0], content["example"]["status"]
                mark = " *" if (str(status), code) in everywhere else ""
                rows.append((status, f"| {status} | `{code}`{mark} | {response['description']} |"))
    lines += [row for _, row in sorted(rows, key=lambda row: row[0])]
    lines += ["", *paragraph(EVERYWHERE)]
    for tag in document["tags"]:
        inside = [entry for entry in examples if entry[2]["tags"] == [tag["name"]]]
        if inside:
            lines += [f"## {tag['name']}", "", *paragraph(tag["description"])]
            for path, method, operation in inside:
                lines += section(document, path, method, operation, everywhere)
    lines += ["## Answers", ""]
    for name in answers_of_routes(document):
        schema = document["components"]["schemas"][name]
        lines += [f"### {name}", ""]
        if "description" in schema:
            lines += paragraph(schema["description"])
        lines += fields(document, schema)
    return "\n".join(lines).rstrip() + "\n"


MADE = "<!-- Made by tools/openapi.py of the descriptions in docs/openapi. -->"
ADDRESSES = """```sh
GATEWAY_URL=http://127.0.0.1:8080
APPLE_SIMULATOR_URL=http://127.0.0.1:8084   # in development: stands in for Apple
```"""
INTRODUCTION = """
For developers of apps, and of clients in other languages. Programs read
[openapi/public.json](openapi/public.json). `make test-api` runs the examples, one after the other, against the system
that `make run` starts. They need `curl`, `jq` and
"""
PAGE_INTRODUCTION = """
For developers of apps, and of clients in other languages. Programs read [openapi.json](/openapi.json). The examples
need `curl`, `jq` and the gateway's address:
"""
RULES = """
Every path below `/v1` also exists below `/api/v1`. Requests and responses are JSON in UTF-8, with at most 65,536
bytes. Times are ISO 8601 in UTC without fractions; identifiers are UUIDs. Unknown fields of a request are ignored,
and `null` in an optional field counts as absent. Repeated keys, wrong types, a byte-order mark, NUL in a text and
nesting deeper than 16 are refused. A POST without required fields needs no body and no `Content-Type`.

Every response has `X-Request-Id`: that of the request, if it is 1 to 64 of `A–Z a–z 0–9 - _`, else a new one. Every
response with a token has `Cache-Control: no-store`.

New providers, kinds, statuses and codes may be added. Clients must accept unknown values.
"""
AUTHORIZATION = """
A sign-in returns an access token, valid for up to an hour, and a refresh token. Send the access token with each
request: `Authorization: Bearer $ACCESS_TOKEN`. A 401 with `TOKEN_EXPIRED` or `INVALID_TOKEN` gives the reason in
`WWW-Authenticate`: refresh once, and repeat the request.

A refresh token is valid once: store the new one before you use the rest of the response. If no response arrives, send
the same token again. Sign the user out only on `INVALID_REFRESH_TOKEN`. Every other error is temporary, 503 above all.

Some routes require an authentication within the last ten minutes. A 403 with `REAUTHENTICATION_REQUIRED` reports that:
send the password or Apple's identity token to `POST /v1/auth/reauthenticate`, refresh, and repeat the request.

Routes without a bearer ignore `Authorization`, so an expired token does no harm there. Where a bearer is optional, an
invalid one is refused.
"""
ERRORS = """
A refusal is `application/problem+json` (RFC 9457). Decide by `code`, show `detail`, and report `requestId` to the
operator: every log contains it. Invalid input has `errors` too. On `/oauth/token` and `/oauth/revoke` a refusal has
OAuth's form (RFC 6749 §5.2): `error` and `error_description`.
"""
EVERYWHERE = """
Every route below `/v1` can return the codes with *, so the routes do not list them. 429 and 503 have `Retry-After`, in
seconds. An unknown path is answered 404, a wrong method 405 with `Allow`, with a bearer or without.
"""


def written():
    """The text of each file that this script answers for."""
    document = public()
    files = {folder / f"{name}.json": formatted(load(name)) for name in SOURCES}
    files[folder / "public.json"] = formatted(without_examples(document))
    files[root / "docs" / "api.md"] = markdown(
        document, ["# The API", "", MADE, "", *paragraph(INTRODUCTION), ADDRESSES]
    )
    page = markdown(document, ["# Gatehouse: the API", "", *paragraph(PAGE_INTRODUCTION), ADDRESSES], everything=True)
    files[root / "Services/gateway/Sources/Documents/PublicDocumentTexts.swift"] = api_page.swift(
        json.dumps(published(without_examples(document)), ensure_ascii=False, separators=(",", ":")), page
    )
    return files


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    stale = {file: text for file, text in written().items() if not file.exists() or file.read_text() != text}
    for file, text in stale.items():
        if check:
            print(f"{file.relative_to(root)}: is not up to date: run python3 tools/openapi.py", file=sys.stderr)
        else:
            file.write_text(text)
    sys.exit(bool(check and stale))


if __name__ == "__main__":
    main()
