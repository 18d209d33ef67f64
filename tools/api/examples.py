"""examples.py FOLDER MAIL_FOLDER   runs every example of docs/openapi/public.json in the file's order, in one shell,
and has schemathesis hold each answer, which FOLDER keeps, to the description. The system writes mail to MAIL_FOLDER."""

import json
import re
import subprocess
import sys
from pathlib import Path

import requests
import schemathesis
from descriptions import folder as descriptions
from descriptions import operations, read
from schemathesis.specs.openapi import checks

folder, mail = (Path(argument).resolve() for argument in sys.argv[1:])
schema = schemathesis.openapi.from_path(descriptions / "public.json")
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
# Their examples say that the reader signs in again after them.
ENDING = {"resetPassword", "signOut", "oauthRevoke"}

# The reader's curl, that also keeps what it was answered. Of several in an example the last one counts.
PRELUDE = """
set -euo pipefail
curl() {
    command curl -o body -w '{"status": %{http_code}, "headers": %{header_json}}' "$@" >answer
    cat body
    : >>body
}
# message PATTERN: what fits the pattern in the newest message, which comes a moment after it was asked for.
message() {
    for _ in $(seq 300); do
        if cat "$MAIL"/* 2>&1 | grep -oE "$1" | tail -n 1 | grep .; then return; fi
        sleep 0.1
    done
    echo "no message with $1 has come" >&2
    return 1
}
keep() {
    mkdir "$1"
    mv answer body "$1"
}
"""


def examples():
    """(name, operation, lines) of each operation that has an example."""
    for path, method, operation in operations(read("public")):
        block = re.search(r"^```sh\n(.*?)^```$", operation.get("description", ""), re.M | re.S)
        if block:
            yield f"{method.upper()} {path}", operation, block[1]


def script(examples):
    sign_in = next(block for name, _, block in examples if name == "POST /v1/auth/login")
    lines = [f"MAIL='{mail}'", PRELUDE]
    for number, (_, operation, block) in enumerate(examples):
        if "$RESET_TOKEN" in block:
            lines.append("RESET_TOKEN=$(message 'ghpr_[A-Za-z0-9_-]+')")
        if "$CODE" in block:
            lines.append(r"CODE=$(message '\b[0-9]{6}\b')")
        lines += ["rm -f answer body", block + f"keep {number} </dev/null"]
        if operation["operationId"] in ENDING:
            lines.append(sign_in)
    return "\n".join(lines)


def differences(name, operation, kept):
    """What is wrong with an answer that was kept."""
    answer, body = json.loads((kept / "answer").read_text()), (kept / "body").read_bytes()
    wanted, described = next(entry for entry in operation["responses"].items() if entry[0].startswith("2"))
    if str(answer["status"]) != wanted:
        yield f"{answer['status']} instead of {wanted}: {body[:500]}"
        return
    if body and "content" not in described:
        yield "has a body, and none is described"
    # None of the checks looks at the request, which curl has sent.
    request = requests.PreparedRequest()
    request.prepare_headers({})
    response = schemathesis.Response(answer["status"], answer["headers"], body, request, elapsed=0, verify=True)
    try:
        schema.find_operation_by_label(name).Case().validate_response(response, checks=CHECKS)
    except schemathesis.errors.FailureGroup as failures:
        yield from map(str, failures.exceptions)


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
        problems += [f"{name}: {text}" for text in differences(name, operation, folder / str(number))]
    if problems:
        sys.exit("\n".join(problems))
    print(f"    {len(all_examples)} examples are answered as described")


main()
