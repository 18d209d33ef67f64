"""What a description says of a request that schemathesis has made. `DESCRIPTION` names its file, `SENT` the one in which
each method and path stands that a request was sent for.
"""

import json
import os
import sys
from pathlib import Path

import schemathesis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import openapi

description = json.loads(Path(os.environ["DESCRIPTION"]).read_text())
sent = set()


@schemathesis.hook
def after_call(context, case, response):
    """For complete.py."""
    request = f"{case.method.upper()} {case.operation.path}"
    if request not in sent:
        sent.add(request)
        with open(os.environ["SENT"], "a") as file:
            file.write(request + "\n")


def described(operation):
    return description["paths"][operation.path][operation.method.lower()]


@schemathesis.check
def described_code(context, response, case):
    """A refusal has one of the codes that are described for its status."""
    answers = description["paths"][case.operation.path].get(case.method.lower(), {}).get("responses", {})
    answer = openapi.resolve(description, answers.get(str(response.status_code), {}))
    if "x-codes" in answer and response.content:
        body = response.json()
        code = body.get("code", body.get("error"))
        assert code in answer["x-codes"], f"{response.status_code} with {code}, which is not among {answer['x-codes']}"
