"""breaking.py OLD NEW CHANGELOG   refuses a breaking change: one in the descriptions in the folder NEW that a reader
of those in OLD, the last released ones, cannot handle: apps read public.json, the services the others. An intended one
needs a line **Breaking** in the changelog's unreleased part which names the route, as `POST /v1/auth/login` or
`/v1/auth/login`.

These may come: a route, an answer's field, a value where there may be more (`x-extensible-enum`), a code, an optional
field of a request, a caller.
"""

import json
import re
import sys
from pathlib import Path

import jsoncompat
from descriptions import METHODS, read, resolve

# Keywords that say nothing of a schema's values, and those that jsoncompat compares.
SILENT = {"description", "example", "examples", "title", "$comment"}
COMPARED = {"type", "properties", "required", "items", "enum", "const", "additionalProperties"}
COMPARED |= {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"}


def comparable(document, schema, is_request):
    """The schema as jsoncompat compares it. A keyword that it ignores (a pattern) becomes a required property."""
    schema = {key: item for key, item in resolve(document, schema).items() if key not in SILENT}
    if schema.keys() == {"anyOf"}:
        return {"anyOf": [comparable(document, item, is_request) for item in schema["anyOf"]]}
    if "items" in schema:
        schema["items"] = comparable(document, schema["items"], is_request)
    if "properties" in schema:
        fields = schema["properties"].items()
        schema["properties"] = {name: comparable(document, item, is_request) for name, item in fields}
        schema["required"] = [name for name in schema.get("required", []) if name in schema["properties"]]
        # With every name allowed, a new field would narrow what a request may be.
        schema["additionalProperties"] = not is_request
    values = schema.pop("x-extensible-enum", [])
    ignored = [f"{key}: {schema.pop(key)}" for key in list(schema) if key not in COMPARED]
    if is_request and values:
        schema["enum"] = values
    elif values:
        # An answer's open set only grows.
        ignored += [f"value: {value}" for value in values]
    properties = {"schema": schema, **{text: {"const": True} for text in ignored}}
    return {"type": "object", "properties": properties, "required": list(properties)}


def parts_of_request(document, operation):
    """By name: the schema of a parameter or of a body, and whether it is needed."""
    parameters = [resolve(document, parameter) for parameter in operation["parameters"]]
    body = operation.get("requestBody", {"content": {}})
    parts = {f"{each['in']} {each['name']}": (each["schema"], each.get("required", False)) for each in parameters}
    return parts | {name: (each["schema"], body.get("required", False)) for name, each in body["content"].items()}


def parts_of_answer(document, answer):
    """By name: the schema of a header or of a body, and whether it is always there."""
    headers = {name: resolve(document, header) for name, header in answer.get("headers", {}).items()}
    parts = {f"header {name}": (each["schema"], each.get("required", False)) for name, each in headers.items()}
    return parts | {name: (each["schema"], False) for name, each in answer.get("content", {}).items()}


def compare_parts(old, new, was, now, is_request):
    """What a reader of `was` cannot handle in `now`."""
    role = jsoncompat.Role.DESERIALIZER if is_request else jsoncompat.Role.SERIALIZER
    for name in sorted(was.keys() - now.keys()):
        yield f"{name} is gone"
    for name, (schema, is_required) in now.items():
        old_schema, was_required = was.get(name, (None, False))
        if is_request and is_required and not was_required:
            yield f"{name} is needed"
        if not is_request and was_required and not is_required:
            yield f"{name} may be missing"
        if old_schema is None:
            continue
        schemas = [json.dumps(comparable(*each, is_request)) for each in ((old, old_schema), (new, schema))]
        if not jsoncompat.check_compat(*schemas, role):
            yield f"{name} {'no longer takes all that it took' if is_request else 'may give what it did not give'}"


def compare_operations(old, new, was, now):
    if was["operationId"] != now["operationId"]:
        yield f"operationId was {was['operationId']}: clients that are made of the file have that name"
    for need in was["security"] or [{}]:
        if need not in (now["security"] or [{}]):
            yield f"security: {need or 'nothing'} is no longer enough"
    for caller in was.get("x-callers") or []:
        if caller not in (now.get("x-callers") or [caller]):
            yield f"{caller} may no longer call"
    yield from compare_parts(old, new, parts_of_request(old, was), parts_of_request(new, now), True)
    for status in sorted(now["responses"].keys() - was["responses"].keys()):
        if status.startswith(("2", "3")):
            yield f"{status} is a new success status, which clients do not know"
    for status, answer in was["responses"].items():
        if status not in now["responses"]:
            yield f"{status} is gone"
            continue
        old_answer, new_answer = resolve(old, answer), resolve(new, now["responses"][status])
        for code in old_answer.get("x-codes", []):
            if code not in new_answer.get("x-codes", []):
                yield f"{status}: {code} is gone"
        old_parts, new_parts = parts_of_answer(old, old_answer), parts_of_answer(new, new_answer)
        for finding in compare_parts(old, new, old_parts, new_parts, False):
            yield f"{status}: {finding}"


def compare(old, new):
    for path, item in old["paths"].items():
        other = new["paths"].get(path, {})
        for was, now in ((item, other), (item.get("x-admin", {}), other.get("x-admin", {}))):
            for method in METHODS:
                if method not in was:
                    continue
                found = compare_operations(old, new, was[method], now[method]) if method in now else ["is gone"]
                yield from ((f"{method.upper()} {path}", finding) for finding in found)


def announced(changelog):
    """What the unreleased part says of what breaks."""
    part = re.search(r"(?ms)^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changelog)
    return " ".join(re.findall(r"(?ms)^- \*\*Breaking\*\*(.*?)(?=^- |^#|^$|\Z)", part[1] if part else ""))


def main():
    *folders, changelog = sys.argv[1:]
    findings = {}
    for name in ("gateway", "identity", "tokens", "devices", "public"):
        old, new = (read(name, Path(folder)) for folder in folders)
        # A public route is in two files.
        findings |= dict.fromkeys(compare(old, new), old["info"]["version"])
    told = announced(Path(changelog).read_text())
    refused = [
        f"breaks {version}: {route}: {finding}. CHANGELOG.md has no **Breaking** line for it"
        for (route, finding), version in findings.items()
        if f"`{route}`" not in told and f"`{route.split()[1]}`" not in told
    ]
    sys.exit("\n".join(refused) or 0)


main()
