"""Reading the descriptions in docs/openapi."""

import json
from pathlib import Path

root = Path(__file__).resolve().parents[2]
folder = root / "docs" / "openapi"
METHODS = ("get", "put", "post", "delete", "head", "patch", "options", "trace")


def read(name, folder=folder):
    """A description in which every reference leads into itself: what services share in common.json is one of its own."""
    document, common = (within(json.loads((folder / f"{file}.json").read_text())) for file in (name, "common"))
    shared, own = common["components"], document["components"]
    # What is only a reference to common.json has its name there.
    entries = {kind: {name: entry for name, entry in own[kind].items() if "$ref" not in entry} for kind in own}
    document["components"] = {kind: shared.get(kind, {}) | entries.get(kind, {}) for kind in shared | own}
    return document


def within(value):
    """The same with references into common.json as references into the document."""
    if isinstance(value, dict):
        return {key: item.removeprefix("common.json") if key == "$ref" else within(item) for key, item in value.items()}
    return [within(item) for item in value] if isinstance(value, list) else value


def operations(document):
    """(path, method, operation) in the order of the file."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def objects(value):
    """Every object in the value, itself included."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def references(value):
    return [each["$ref"] for each in objects(value) if "$ref" in each]


def resolve(document, value):
    """What a reference names, with what stands beside the reference."""
    while "$ref" in value:
        target = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = {**target, **{key: item for key, item in value.items() if key != "$ref"}}
    return value
