"""What schemathesis is told of Gatehouse: how a user comes to a bearer, and that a refusal has one of the codes that
are described for it (`x-codes`).
"""

import json
import os
import sys
import time
import urllib.request
import uuid
from pathlib import Path

import schemathesis

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import openapi

gateway = os.environ["GATEWAY_URL"]
description = openapi.public()
# That of the examples, so that those are right where a password is asked for.
PASSWORD = "a long enough sentence"
# After these the bearer serves no longer: each request of theirs has a user of its own.
ENDING = {"deleteAccount", "signOut", "signOutEverywhere", "endSession", "changePassword", "unlinkProvider"}
# Seconds after which the others get a new user, who has no devices and no sessions yet.
LIFETIME = 30


def register():
    identifier = f"{uuid.uuid4()}@example.com"
    body = json.dumps({"identifier": identifier, "password": PASSWORD}).encode()
    request = urllib.request.Request(f"{gateway}/v1/auth/register", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["accessToken"]


def operation_id(operation):
    return description["paths"][operation.path][operation.method.lower()]["operationId"]


@schemathesis.auth(refresh_interval=None)
class Bearer:
    def __init__(self):
        self.token, self.since = None, 0.0

    def get(self, case, context):
        if operation_id(context.operation) in ENDING:
            return register()
        if self.token is None or time.monotonic() - self.since > LIFETIME:
            self.token, self.since = register(), time.monotonic()
        return self.token

    def set(self, case, data, context):
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.check
def described_code(context, response, case):
    """A refusal has one of the codes that are described for its status."""
    answers = description["paths"][case.operation.path].get(case.method.lower(), {}).get("responses", {})
    answer = openapi.resolve(description, answers.get(str(response.status_code), {}))
    if "x-codes" in answer and response.content:
        body = response.json()
        code = body.get("code", body.get("error"))
        assert code in answer["x-codes"], f"{response.status_code} with {code}, which is not among {answer['x-codes']}"
