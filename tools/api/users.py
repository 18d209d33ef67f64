"""Users for schemathesis: each registers through the gateway."""

import base64
import json
import os
import time
import uuid

import requests

gateway = os.environ["GATEWAY_URL"]
# That of the examples, so that those are right where a password is asked for.
PASSWORD = "a long enough sentence"
# After these the user's session serves no longer: each request of theirs has a user of its own.
ENDING = {"deleteAccount", "signOut", "signOutEverywhere", "endSession", "changePassword", "unlinkProvider"}
# Seconds after which the others get a new user, who has no devices and no sessions yet.
LIFETIME = 30


def send(method, url, fields, headers=None):
    """The answer to a request with a body of JSON."""
    answer = requests.request(method, url, json=fields, headers=headers, timeout=60)
    answer.raise_for_status()
    return answer.json()


def register():
    """A session of a new user."""
    fields = {"identifier": f"{uuid.uuid4()}@example.com", "password": PASSWORD}
    return send("POST", f"{gateway}/v1/auth/register", fields)


def appoint():
    """A session of a new operator."""
    new = register()
    url = f"{os.environ['IDENTITY_URL']}/internal/admin/users/{new['user']['id']}"
    credential = {"Gatehouse-Credential": os.environ["ADMIN_IDENTITY_SECRET"]}
    send("PATCH", url, {"role": "operator"}, credential)
    return send("POST", f"{gateway}/v1/auth/refresh", {"refreshToken": new["refreshToken"]})


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Users:
    """One user after the other, and one operator after the other."""

    def __init__(self):
        # By what made them: an access token, and since when it is used.
        self.kept = {}

    @property
    def token(self):
        """The user's, if there is one yet."""
        return self.kept.get(register, (None, 0))[0]

    def token_for(self, operation):
        if operation["operationId"] in ENDING:
            return register()["accessToken"]
        make = appoint if "Administration" in operation["tags"] else register
        _, since = self.kept.get(make, (None, -LIFETIME))
        if time.monotonic() - since >= LIFETIME:
            self.kept[make] = make()["accessToken"], time.monotonic()
        return self.kept[make][0]
