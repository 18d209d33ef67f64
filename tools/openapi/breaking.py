"""breaking.py OLD NEW CHANGELOG   refuses a breaking change: one in the descriptions in the folder NEW that a reader
of those in OLD, the last released ones, cannot handle: apps read public.json, the services the others. An intended one
needs a line **Breaking** in the changelog's unreleased part which names the route, as `POST /v1/auth/login` or
`/v1/auth/login`.

What may come: a route, an answer's field, a value where there may be more (`x-extensible-enum`), a code, an optional
field of a request, a caller. What may not: see the words below. What this script does not know, and what has changed,
is refused as well.
"""

import re
import sys
from pathlib import Path

from descriptions import METHODS, read, resolve

# Of a schema what says nothing of its values.
SILENT = {"description", "example", "examples", "title", "$comment"}
LOWER, UPPER = ("minLength", "minItems", "minimum"), ("maxLength", "maxItems", "maximum")
KNOWN = {"$ref", "type", "properties", "required", "items", "enum", "const", "format", "pattern", "anyOf"}
KNOWN |= {"x-extensible-enum", *LOWER, *UPPER}

findings = []
# Of the file that is compared, each side.
documents = {}


def find(place, text):
    findings.append(f"{place}: {text}")


def plain(side, schema):
    """Without references, words and the form in which `null` is allowed; and whether it is."""
    schema = {key: item for key, item in resolve(documents[side], schema).items() if key not in SILENT}
    alternatives = schema.get("anyOf", [])
    rest = [item for item in alternatives if item != {"type": "null"}]
    if len(alternatives) == 2 and len(rest) == 1:
        return plain(side, rest[0])[0], True
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    may_be_null = "null" in kinds
    if kinds:
        schema["type"] = sorted(kind for kind in kinds if kind != "null")
    if "enum" in schema:
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return schema, may_be_null


def compare_schema(place, base, new, asked, seen=()):
    """Whether `new` takes (asked) all that `base` takes, or gives (not asked) nothing that `base` does not give."""
    pair = (base.get("$ref"), new.get("$ref"))
    if all(pair):
        if pair in seen:
            return
        seen = (*seen, pair)
    (base, base_null), (new, new_null) = plain("base", base), plain("new", new)
    if asked and base_null and not new_null:
        find(place, "null is no longer taken")
    if not asked and new_null and not base_null:
        find(place, "may be null")
    for key in sorted((base.keys() | new.keys()) - KNOWN):
        if base.get(key) != new.get(key):
            find(place, f"{key} has changed, and this script cannot judge it")
    if base.get("anyOf") != new.get("anyOf"):
        find(place, "anyOf has changed, and this script cannot judge it")
    for key in ("type", "const", "format", "pattern"):
        if base.get(key) == new.get(key) or asked and key != "type" and key not in new:
            continue
        if not asked and key != "type" and key not in base:
            continue
        find(place, f"{key} was {base.get(key)}, is {new.get(key)}")
    compare_values(place, base, new, asked)
    for key in (*LOWER, *UPPER):
        was, now = base.get(key), new.get(key)
        # In what order the bound may move: a request's may loosen, an answer's tighten.
        if was == now or (now is None if asked else was is None):
            continue
        if (was is None or now is None) or ((now > was) == (key in LOWER)) == asked:
            find(place, f"{key} was {was}, is {now}")
    for name in base.get("properties", {}).keys() - new.get("properties", {}).keys():
        find(place, f"{name} is gone")
    was, now = set(base.get("required", [])), set(new.get("required", []))
    for name in sorted(now - was) if asked else sorted(was - now):
        find(place, f"{name} is needed" if asked else f"{name} may be missing")
    for name in base.get("properties", {}).keys() & new.get("properties", {}).keys():
        compare_schema(f"{place}.{name}", base["properties"][name], new["properties"][name], asked, seen)
    if "items" in base or "items" in new:
        compare_schema(f"{place}[]", base.get("items", {}), new.get("items", {}), asked, seen)


def compare_values(place, base, new, asked):
    """Closed sets: a request's may grow, an answer's shrink. Open ones (x-extensible-enum) only grow."""
    if "enum" in base or "enum" in new:
        was, now = base.get("enum"), new.get("enum")
        if asked and now is not None and (was is None or set(was) - set(now)):
            find(place, f"values are no longer taken: {sorted(set(was or ['any']) - set(now))}")
        if not asked and was is not None and (now is None or set(now) - set(was)):
            find(place, f"new values that clients do not know: {sorted(set(now or ['any']) - set(was))}")
    for value in sorted(set(base.get("x-extensible-enum", [])) - set(new.get("x-extensible-enum", []))):
        find(place, f"{value} is gone")
    if "x-extensible-enum" in base and "x-extensible-enum" not in new:
        find(place, "is no longer open")


def compare_content(place, base, new, asked):
    for media in sorted(base.keys() - new.keys()):
        find(place, f"{media} is gone")
    for media in base.keys() & new.keys():
        compare_schema(place, base[media].get("schema", {}), new[media].get("schema", {}), asked)


def parameters(side, operation):
    """By place and name."""
    resolved = [resolve(documents[side], parameter) for parameter in operation["parameters"]]
    return {(parameter["in"], parameter["name"]): parameter for parameter in resolved}


def compare_operation(place, base, new):
    if base["operationId"] != new["operationId"]:
        find(place, f"operationId was {base['operationId']}: clients that are made of the file have that name")
    for need in base["security"] or [{}]:
        if need not in (new["security"] or [{}]):
            find(place, f"security: {need or 'nothing'} is no longer enough")
    for caller in base.get("x-callers") or []:
        if caller not in (new.get("x-callers") or [caller]):
            find(place, f"{caller} may no longer call")
    base_parameters, new_parameters = parameters("base", base), parameters("new", new)
    for key, parameter in new_parameters.items():
        was = base_parameters.get(key)
        if parameter.get("required") and not (was or {}).get("required"):
            find(f"{place} {key[1]}", "is needed")
        if was:
            compare_schema(f"{place} {key[1]}", was["schema"], parameter["schema"], True)
    for _, name in base_parameters.keys() - new_parameters.keys():
        find(f"{place} {name}", "is gone")
    was, now = base.get("requestBody"), new.get("requestBody")
    if now and now.get("required") and not (was or {}).get("required"):
        find(place, "a body is needed")
    if was:
        compare_content(f"{place} request", was["content"], (now or {"content": {}})["content"], True)
    compare_answers(place, base["responses"], new["responses"])


def compare_answers(place, base, new):
    for status in sorted(base.keys() ^ new.keys()):
        if status in base or status.startswith(("2", "3")):
            change = "gone" if status in base else "a new success status, which clients do not know"
            find(place, f"{status} is {change}")
    for status in sorted(base.keys() & new.keys()):
        was, now = resolve(documents["base"], base[status]), resolve(documents["new"], new[status])
        for code in [code for code in was.get("x-codes", []) if code not in now.get("x-codes", [])]:
            find(f"{place} {status}", f"{code} is gone")
        for name, header in was.get("headers", {}).items():
            header = resolve(documents["base"], header)
            other = resolve(documents["new"], now.get("headers", {}).get(name, {}))
            if not other:
                find(f"{place} {status}", f"the header {name} is gone")
            else:
                if header.get("required") and not other.get("required"):
                    find(f"{place} {status}", f"the header {name} may be missing")
                compare_schema(f"{place} {status} {name}", header["schema"], other["schema"], False)
        # A client that waits for no body is not disturbed by one.
        compare_content(f"{place} {status}", was.get("content", {}), now.get("content", {}), False)


def announced(changelog):
    """What the unreleased part says of what breaks: a text for each line."""
    part = re.search(r"(?ms)^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changelog)
    lines = re.findall(r"(?ms)^- \*\*Breaking\*\*(.*?)(?=^- |^#|^$|\Z)", part[1] if part else "")
    return [" ".join(line.split()) for line in lines]


def compare_files():
    base, new = documents["base"], documents["new"]
    for path, item in base["paths"].items():
        other = new["paths"].get(path, {})
        for was, now in ((item, other), (item.get("x-admin", {}), other.get("x-admin", {}))):
            for method in METHODS:
                if method in was:
                    place = f"{method.upper()} {path}"
                    if method not in now:
                        find(place, "is gone")
                    else:
                        compare_operation(place, was[method], now[method])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    for name in ("gateway", "identity", "tokens", "devices", "public"):
        documents.update({side: read(name, Path(folder)) for side, folder in zip(("base", "new"), sys.argv[1:])})
        compare_files()
    version = documents["base"]["info"]["version"]
    told = announced(Path(sys.argv[3]).read_text())
    failed = False
    # A public route is in two files.
    for finding in dict.fromkeys(findings):
        method, path = re.match(r"(\S+) ([^\s:]+)", finding).groups()
        if not any(f"`{method} {path}`" in line or f"`{path}`" in line for line in told):
            print(f"breaks {version}: {finding}. CHANGELOG.md has no **Breaking** line for it", file=sys.stderr)
            failed = True
    sys.exit(failed)


main()
