"""openapi-examples.py FILE…   fails where an example of a description does not fit the schema beside it. Files refer to
files in the same folder."""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

files = [Path(name).resolve() for name in sys.argv[1:]]
documents = {
    file.as_uri(): json.loads(file.read_text())
    for folder in {file.parent for file in files}
    for file in folder.glob("*.json")
}
registry = Registry().with_resources(
    (uri, Resource.from_contents(document, default_specification=DRAFT202012)) for uri, document in documents.items()
)


def examples(value, pointer):
    """Where a schema stands, and the example beside it."""
    if isinstance(value, dict):
        if "schema" in value and "example" in value:
            yield pointer + "/schema", value["example"]
        for key, item in value.items():
            yield from examples(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1').replace('%', '%25')}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from examples(item, f"{pointer}/{place}")


failed = False
for file in files:
    for pointer, example in examples(documents[file.as_uri()], "#"):
        schema = {"$ref": file.as_uri() + pointer}
        for error in Draft202012Validator(schema, registry=registry).iter_errors(example):
            print(f"{file.name} {pointer}: {error.json_path}: {error.message[:200]}", file=sys.stderr)
            failed = True
sys.exit(failed)
