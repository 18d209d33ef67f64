"""examples.py FOLDER TOKEN_FILE   runs every example of docs/api.md in the order of the page, in one shell, as a reader
would, and holds each answer to docs/openapi/public.json: status, headers, body. GATEWAY_URL and APPLE_SIMULATOR_URL say
where the system is; TOKEN_FILE is where the token for a new password comes. FOLDER keeps what was answered.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import openapi
from jsonschema import Draft202012Validator

root = Path(__file__).resolve().parents[2]
folder, token_file = Path(sys.argv[1]).resolve(), sys.argv[2]
description = openapi.public()

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
    """(METHOD, path, lines) as they stand in docs/api.md."""
    text = (root / "docs" / "api.md").read_text()
    pattern = re.compile(r"^### `([A-Z]+) (/\S+)`$(.*?)(?=^##|\Z)", re.M | re.S)
    for method, path, body in pattern.findall(text):
        block = re.search(r"^```sh\n(.*?)^```$", body, re.M | re.S)
        yield method, path, block[1] if block else None


def script(pages):
    sign_in = next(block for _, path, block in pages if path == "/v1/auth/login")
    lines = [PRELUDE]
    for number, (method, path, block) in enumerate(pages):
        if "$RESET_TOKEN" in block:
            lines.append(f"RESET_TOKEN=$(reset_token '{token_file}')")
        if "$CODE" in block:
            lines.append(f"CODE=$(code '{folder.parent}/mail')")
        lines += ["rm -f status head body", block + f"keep {number} </dev/null"]
        if description["paths"][path][method.lower()]["x-curl"].get("endsSessions"):
            lines.append(sign_in)
    return "\n".join(lines)


def judge(description, pages):
    """What is wrong with the answers that are kept."""
    problems = []
    for number, (method, path, _) in enumerate(pages):
        operation = description["paths"][path][method.lower()]
        problems += [f"{method} {path}: {text}" for text in differences(description, operation, folder / str(number))]
    return problems


def differences(description, operation, answer):
    wanted, response = openapi.success(operation)
    status, body = (answer / "status").read_text(), (answer / "body").read_text()
    if status != wanted:
        yield f"{status} instead of {wanted}: {body[:500]}"
        return
    heads = (answer / "head").read_text().replace("\r", "").strip().split("\n\n")[-1].splitlines()[1:]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in heads)}
    for name, header in response["headers"].items():
        schema, value = openapi.resolve(description, header)["schema"], headers.get(name.lower())
        if value is None:
            yield f"lacks {name}"
        elif not validator(description, schema).is_valid(int(value) if schema["type"] == "integer" else value):
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
    for error in validator(description, shape["schema"]).iter_errors(said):
        yield "/".join(str(part) for part in error.absolute_path) + f": {error.message[:300]}"


def validator(description, schema):
    # The description itself is the document that references point into.
    return Draft202012Validator({**description, **schema})


def main():
    pages = list(examples())
    folder.mkdir(parents=True)
    (folder / "script").write_text(script(pages))
    result = subprocess.run(["bash", "script"], cwd=folder, capture_output=True, text=True)
    reached = [page for number, page in enumerate(pages) if (folder / str(number)).exists()]
    problems = judge(description, reached)
    if len(reached) < len(pages):
        method, path, _ = pages[len(reached)]
        problems.append(f"{method} {path}: the example ends with {result.returncode}: {result.stderr[-500:]}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"    {len(pages)} examples are answered as described")


main()
