"""What a description says of a request that schemathesis has made. `DESCRIPTION` names its file."""

import json
import os
from pathlib import Path

import openapi
import schemathesis

description = json.loads(Path(os.environ["DESCRIPTION"]).read_text())


def described(operation):
    return description["paths"][operation.path][operation.method.lower()]


@schemathesis.check
def described_code(context, response, case):
    """An error response has one of the codes that are described for its status."""
    answers = description["paths"][case.operation.path].get(case.method.lower(), {}).get("responses", {})
    answer = openapi.resolve(description, answers.get(str(response.status_code), {}))
    if "x-codes" in answer and response.content:
        body = response.json()
        code = body.get("code", body.get("error"))
        assert code in answer["x-codes"], f"{response.status_code} with {code}, which is not among {answer['x-codes']}"
