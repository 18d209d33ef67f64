"""public.py   writes docs/openapi/public.json and docs/openapi/public.html, which the gateway serves, and app.json and
admin.json, which clients are generated from. Fails if it had to write something, or if an example does not fit its
schema. `tools/lint.sh openapi-generated --all-files` runs it.

The sources are introduction.md and the services' descriptions beside them, which get their layout here too. The public
description is the gateway's own routes and the services' public ones, each with what the gateway may answer in the
service's place (`x-edge` in gateway.json).

What is ours in these files:
    x-codes             the codes that an answer can have
    x-extensible-enum   values of which new ones may be added
    x-callers           who may call an internal route
    x-admin             the same path on the gateway's admin port, where it answers otherwise
"""

import json
import sys
import textwrap

from descriptions import folder, objects, operations, read, references, resolve, root
from jinja2 import Environment, FileSystemLoader
from jsonschema import Draft202012Validator
from markdown import markdown
from markupsafe import Markup

SERVICES = ("identity", "tokens", "devices")
SOURCES = ("common", "gateway", *SERVICES)
# Of a service's paths those that the gateway does not serve.
INTERNAL = ("/internal", "/metrics", "/livez", "/readyz")
# The tags of the operations that an app or a team calls, with those of the classes that generators make for them.
APP = {tag: tag for tag in ("Sign in", "Account", "Devices", "Sessions", "OAuth", "Keys")}
APP["Deleting the account"] = "Account"
WIDTH = 120


def formatted(value, indent=0, taken=1):
    """JSON in which whatever fits into a line stands in one. `taken` is the length of the name and the comma beside it."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + taken + len(line) < WIDTH:
        return line
    if isinstance(value, list):
        first, last = "[]"
        parts = [formatted(item, indent + 2) for item in value]
    else:
        first, last = "{}"
        names = [json.dumps(name, ensure_ascii=False) + ": " for name in value]
        parts = [name + formatted(item, indent + 2, len(name) + 1) for name, item in zip(names, value.values())]
    return "\n".join((first, textwrap.indent(",\n".join(parts), "  "), last))


# --- the public description


class Merge:
    def __init__(self):
        self.gateway, *self.services = (read(name) for name in ("gateway", *SERVICES))
        self.components = {}
        for service in self.services:
            for kind, entries in service["components"].items():
                known = self.components.setdefault(kind, {})
                for name, entry in entries.items():
                    assert known.setdefault(name, entry) == entry, f"{name} is described twice"
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
                if path.startswith(INTERNAL):
                    continue
                form = "routeOAuth" if path.startswith("/oauth/") else "route"
                added = [edge["head"], edge[form]]
                if operation["security"] == [{"bearer": []}]:
                    added.append(edge["bearer"])
                paths.setdefault(path, {})[method] = self.with_edge(operation, added)
        for path, method, operation in operations(self.gateway):
            # Paths on the admin port name their server.
            if "servers" not in self.gateway["paths"][path]:
                paths.setdefault(path, {})[method] = self.with_edge(operation, [edge["head"]])
        order = [tag["name"] for tag in self.gateway["tags"]]
        first = {
            path: min(order.index(operation["tags"][0]) for operation in item.values()) for path, item in paths.items()
        }
        introduction = (folder / "introduction.md").read_text()
        document = {
            "openapi": self.gateway["openapi"],
            "info": {**self.gateway["info"], "title": "Gatehouse", "description": introduction},
            "servers": [{"url": "/", "description": "The gateway that serves this description."}],
            "tags": [tag for position, tag in enumerate(self.gateway["tags"]) if position in first.values()],
            # Python's sort is stable: within a tag the order of the sources.
            "paths": dict(sorted(paths.items(), key=lambda entry: first[entry[0]])),
        }
        document["components"] = used(document, {**self.components, "responses": self.responses})
        return document

    def with_edge(self, operation, added):
        responses = {status: [response] for status, response in operation["responses"].items()}
        for answers in added:
            for status, response in answers["responses"].items():
                responses.setdefault(status, []).append(response)
        return {**operation, "responses": {status: self.merged(responses[status]) for status in sorted(responses)}}

    def merged(self, answers):
        """One response for all that a status can mean. Those that several routes share become components."""
        resolved = []
        for answer in answers:
            answer = resolve({"components": self.components}, answer)
            if answer not in resolved:
                resolved.append(answer)
        if len(resolved) == 1 and "x-codes" not in resolved[0]:
            return resolved[0]
        codes, headers, contents = self.combined(resolved)
        told = [f"`{code}`: {self.said[code]}" for code in codes if code in self.said]
        distinct = list(dict.fromkeys(answer["description"] for answer in resolved))
        description = " ".join(told if len(told) == len(codes) > 1 else distinct)
        response = {"description": description, "x-codes": codes, "headers": headers, "content": contents}
        name = "Or".join("".join(word.capitalize() for word in code.split("_")) for code in codes)
        if self.responses.setdefault(name, response) != response:
            return response
        return {"$ref": f"#/components/responses/{name}"}

    def combined(self, resolved):
        """The codes, headers and contents of several responses. A header that one of them lacks is optional."""
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
        return codes, headers, contents

    def for_clients(self, public, title, tags):
        """`public` for a generator of clients: the operations of `tags`, each with one `default` response for every
        refusal, so that a client has one type of error. HEAD and the caller's request id need no generated code."""
        paths = {}
        for path, method, operation in operations(public):
            if operation["tags"][0] not in tags or method == "head":
                continue
            answers = {status: resolve(public, answer) for status, answer in operation["responses"].items()}
            refused = [answers.pop(status) for status in list(answers) if status >= "400"]
            codes, headers, contents = self.combined(refused)
            answers["default"] = {
                "description": "A refusal. Known codes: " + ", ".join(f"`{code}`" for code in codes),
                "x-codes": codes,
                "headers": headers,
                "content": {media: {"schema": content["schema"]} for media, content in contents.items()},
            }
            parameters = [item for item in operation["parameters"] if not item.get("$ref", "").endswith("/RequestId")]
            changed = {"tags": [tags[operation["tags"][0]]], "parameters": parameters, "responses": answers}
            paths.setdefault(path, {})[method] = {**operation, **changed}
        description = "Generate a client from this file. public.json describes the whole API."
        document = {
            **public,
            "info": {**public["info"], "title": title, "description": description},
            "servers": [{"url": "http://127.0.0.1:8080", "description": "The system that `make run` starts."}],
            "tags": [tag for tag in public["tags"] if tag["name"] in tags.values()],
            "paths": paths,
        }
        document["components"] = used(document, public["components"])
        return document

    def optional(self, header):
        header = resolve({"components": self.components}, header)
        return {key: item for key, item in header.items() if key != "required"}


def used(document, available):
    """The components that the document refers to, and those that they refer to."""
    wanted, seen = references(document["paths"]), set()
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


# --- the page


def codes(document, operation):
    return [
        f"{status} {code}"
        for status, response in operation["responses"].items()
        for code in resolve(document, response).get("x-codes", [])
    ]


def refusals():
    """Every error code, with its status and meaning."""
    for response in read("common")["components"]["responses"].values():
        content = response["content"].get("application/problem+json")
        if content:
            yield {**response, "code": response["x-codes"][0], "status": content["example"]["status"]}


def page(document):
    """The description for readers, as page.html has it."""

    def text(source):
        return Markup(markdown(source or "", extensions=["fenced_code", "tables", "toc"]))

    def shape(value):
        """What stands behind references and beside `null`, with its component's name."""
        if "$ref" in value:
            return shape({"x-name": value["$ref"].rpartition("/")[2], **resolve(document, value)})
        if "anyOf" in value:
            # The second is null.
            return shape({**value["anyOf"][0], **{key: item for key, item in value.items() if key != "anyOf"}})
        return value

    templates = Environment(
        loader=FileSystemLoader(root / "tools" / "openapi"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "codes": lambda operation: codes(document, operation),
        "json": formatted,
        "phrase": lambda source: text(source).removeprefix("<p>").removesuffix("</p>"),
        "resolve": shape,
        "text": text,
    }
    of_each = [codes(document, operation) for path, _, operation in operations(document) if path.startswith("/v1/")]
    bodies = [operation["requestBody"] for _, _, operation in operations(document) if "requestBody" in operation]
    # The fields of a request stand at its route.
    requests = set(references(bodies))
    return templates.get_template("page.html").render(
        document,
        # A HEAD request is the GET of the same path.
        operations=[entry for entry in operations(document) if entry[1] != "head"],
        everywhere=set.intersection(*map(set, of_each)),
        refusals=list(refusals()),
        objects=[
            (name, schema)
            for name, schema in document["components"]["schemas"].items()
            if "properties" in schema and f"#/components/schemas/{name}" not in requests
        ],
    )


# --- the examples


def misfits():
    """What is wrong with examples: a text for each fault."""
    for name in SOURCES:
        document = read(name)
        exemplified = [each for each in objects(document) if each.keys() >= {"schema", "example"}]
        for each in exemplified:
            # The description itself is the document that references point into.
            for error in Draft202012Validator({**document, **each["schema"]}).iter_errors(each["example"]):
                yield f"{name}.json: {json.dumps(each['example'])[:100]}: {error.json_path}: {error.message[:200]}"


def main():
    merge = Merge()
    document = merge.document()
    files = {folder / f"{name}.json": json.loads((folder / f"{name}.json").read_text()) for name in SOURCES}
    files[folder / "public.json"] = document
    files[folder / "app.json"] = merge.for_clients(document, "Gatehouse", APP)
    admin = {"Administration": "Administration"}
    files[folder / "admin.json"] = merge.for_clients(document, "Gatehouse administration", admin)
    files = {file: formatted(content) + "\n" for file, content in files.items()}
    files[folder / "public.html"] = page(document)
    stale = [file for file, text in files.items() if not file.exists() or file.read_text() != text]
    for file in stale:
        file.write_text(files[file])
        print(f"{file.relative_to(root)}: was not up to date, and is now", file=sys.stderr)
    wrong = list(dict.fromkeys(misfits()))
    for text in wrong:
        print(text, file=sys.stderr)
    sys.exit(bool(stale or wrong))


main()
