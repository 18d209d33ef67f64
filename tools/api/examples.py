"""examples.py FOLDER TOKEN_FILE   runs every example of docs/openapi/public.json in the order of the file, in one shell,
as a reader would, and holds each answer to the description: status, headers, body. GATEWAY_URL and APPLE_SIMULATOR_URL
say where the system is; TOKEN_FILE is where the token for a new password comes. FOLDER keeps what was answered.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from descriptions import operations, resolve
from jsonschema import Draft202012Validator

root = Path(__file__).resolve().parents[2]
folder, token_file = Path(sys.argv[1]).resolve(), sys.argv[2]
description = json.loads((root / "docs" / "openapi" / "public.json").read_text())
# Their examples say that the reader signs in again after them.
ENDING = {"resetPassword", "signOut", "oauthRevoke"}

# The reader's curl, that also keeps what it was answered. Of several in an example the last one counts.
PRELUDE = """
set -euo pipefail
curl() {
    command curl -o body -D head -w '%{http_code}' "$@" >status
    cat body
    : >>body
}
# reset_token: comes with a message, a moment after it was asked for.
reset_token() {
    for _ in $(seq 300); do
        if [ -s "$1" ]; then cat "$1"; return; fi
        sleep 0.1
    done
    echo "no token for a new password has come" >&2
    return 1
}
# code FOLDER: the six digits in the newest message there.
code() {
    for _ in $(seq 300); do
        if grep -rhoE '\\b[0-9]{6}\\b' "$1" | tail -1 | grep .; then return; fi
        sleep 0.1
    done
    echo "no code has come" >&2
    return 1
}
keep() {
    mkdir "$1"
    mv status head body "$1"
}
"""


def examples():
    """(name, operation, lines) of each operation that has an example."""
    for path, method, operation in operations(description):
        block = re.search(r"^```sh\n(.*?)^```$", operation.get("description", ""), re.M | re.S)
        if block:
            yield f"{method.upper()} {path}", operation, block[1]


def script(examples):
    sign_in = next(block for name, _, block in examples if name == "POST /v1/auth/login")
    lines = [PRELUDE]
    for number, (_, operation, block) in enumerate(examples):
        if "$RESET_TOKEN" in block:
            lines.append(f"RESET_TOKEN=$(reset_token '{token_file}')")
        if "$CODE" in block:
            lines.append(f"CODE=$(code '{folder.parent}/mail')")
        lines += ["rm -f status head body", block + f"keep {number} </dev/null"]
        if operation["operationId"] in ENDING:
            lines.append(sign_in)
    return "\n".join(lines)


def differences(operation, answer):
    """What is wrong with an answer that was kept."""
    wanted, response = next(entry for entry in operation["responses"].items() if entry[0].startswith("2"))
    status, body = (answer / "status").read_text(), (answer / "body").read_text()
    if status != wanted:
        yield f"{status} instead of {wanted}: {body[:500]}"
        return
    heads = (answer / "head").read_text().replace("\r", "").strip().split("\n\n")[-1].splitlines()[1:]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in heads)}
    for name, header in response["headers"].items():
        schema, value = resolve(description, header)["schema"], headers.get(name.lower())
        if value is None:
            yield f"lacks {name}"
        elif not validator(schema).is_valid(int(value) if schema["type"] == "integer" else value):
            yield f"{name} is {value!r}"
    content = response.get("content")
    if not content:
        if body:
            yield "has a body, and none is described"
        return
    media, shape = next(iter(content.items()))
    if headers["content-type"].partition(";")[0] != media:
        yield f"is {headers['content-type']} instead of {media}"
    said = json.loads(body) if media.endswith("json") else body
    for error in validator(shape["schema"]).iter_errors(said):
        yield "/".join(str(part) for part in error.absolute_path) + f": {error.message[:300]}"


def validator(schema):
    # The description itself is the document that references point into.
    return Draft202012Validator({**description, **schema})


def main():
    all_examples = list(examples())
    folder.mkdir(parents=True)
    (folder / "script").write_text(script(all_examples))
    result = subprocess.run(["bash", "script"], cwd=folder, capture_output=True, text=True)
    problems = []
    for number, (name, operation, _) in enumerate(all_examples):
        if not (folder / str(number)).exists():
            problems.append(f"{name}: the example ends with {result.returncode}: {result.stderr[-500:]}")
            break
        problems += [f"{name}: {text}" for text in differences(operation, folder / str(number))]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"    {len(all_examples)} examples are answered as described")


main()
