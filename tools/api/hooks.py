"""What schemathesis is told of Gatehouse: a request's credentials, and what an answer must hold beside its schema.
DESCRIPTION names the description's file. SERVICE is the service whose own port is tried, with a caller's credential and
the gateway's fields where a user is needed. Without it the gateway is tried, as apps see it."""

import base64
import json
import os
import random
import re
import uuid
from pathlib import Path
from urllib.parse import urljoin

import requests
import schemathesis
from descriptions import resolve
from users import Users, claims

description = json.loads(Path(os.environ["DESCRIPTION"]).read_text())
service = os.environ.get("SERVICE")
CALLERS = [caller for caller in ("gateway", "identity", "devices", "introspection") if caller != service]
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Operations that others than the described callers have been tried at.
tried = set()


def described(operation):
    return description["paths"][operation.path][operation.method.lower()]


def credential(caller):
    """Nothing where there is no such pair."""
    return os.environ.get(f"{caller}_{service}_SECRET".upper())


@schemathesis.auth(refresh_interval=None)
class Caller:
    users = Users()

    def get(self, case, context):
        operation = described(context.operation)
        schemes = [scheme for need in operation["security"] for scheme in need]
        if "bearer" in schemes:
            return {"Authorization": f"Bearer {self.users.token_for(operation)}"}
        if "introspection" in schemes:
            pair = f"introspection:{credential('introspection')}".encode()
            return {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        if "x-callers" in operation:
            return {"Gatehouse-Credential": credential(random.choice(operation["x-callers"]))}
        if "user" in schemes:
            said = claims(self.users.token_for(operation))
            return {
                "Gatehouse-Credential": credential("gateway"),
                "Gatehouse-User-Id": said["sub"],
                "Gatehouse-Session-Id": said["sid"],
                "Gatehouse-Role": said["role"],
            }
        return {}

    def set(self, case, data, context):
        case.headers.update(data)


@schemathesis.hook
def before_call(context, case, kwargs):
    """At a service, half of the valid user ids become those of an existing user, and a body's user gets the path's id.
    Invalid ids stay. A wait for a revocation lasts 1 s at most."""
    if not service:
        return
    ids, body, query = case.path_parameters or {}, case.body, case.query or {}
    if str(query.get("wait")).isdecimal():
        query["wait"] = min(int(query["wait"]), 1)
    if "/users/" in case.operation.path and UUID.fullmatch(str(ids.get("id"))):
        if Caller.users.token and random.random() < 0.5:
            ids["id"] = claims(Caller.users.token)["sub"]
        user = body.get("user") if isinstance(body, dict) else None
        if isinstance(user, dict) and UUID.fullmatch(str(user.get("id"))):
            user["id"] = ids["id"]


@schemathesis.check
def described_code(context, response, case):
    """An error response has one of the codes that are described for its status."""
    answers = description["paths"][case.operation.path].get(case.method.lower(), {}).get("responses", {})
    answer = resolve(description, answers.get(str(response.status_code), {}))
    if "x-codes" in answer and response.content:
        body = response.json()
        code = body.get("code", body.get("error"))
        assert code in answer["x-codes"], f"{response.status_code} with {code}, which is not among {answer['x-codes']}"


@schemathesis.check
def no_other_callers(context, response, case):
    """A caller that `x-callers` does not list is refused. Tried once for each operation."""
    operation = described(case.operation)
    if operation["operationId"] in tried or "x-callers" not in operation:
        return
    tried.add(operation["operationId"])
    url = urljoin(response.request.url, case.operation.path.replace("{id}", str(uuid.uuid4())))
    others = [credential(caller) for caller in CALLERS if caller not in operation["x-callers"]]
    for presented in ["dev-nobody", *filter(None, others)]:
        refused = requests.request(case.method, url, headers={"Gatehouse-Credential": presented}, timeout=30)
        assert refused.status_code == 403, f"another caller is answered {refused.status_code}"
