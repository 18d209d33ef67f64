"""The system from the other side: what users do with their apps, and what lies in a database or a mail."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

gateway = os.environ["GATEWAY_URL"]


def call(method, path, body=None, bearer=None):
    """Status and value of an answer."""
    fields = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gateway + path, content, fields, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        text = error.read()
        return error.code, json.loads(text) if text else None


def fields_of(path, method="GET"):
    """Status and fields of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(gateway + path, method=method), timeout=60) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


class Person:
    """Who signs in with an app."""

    def __init__(self, identifier, password):
        self.identifier, self.password = identifier, password
        _, answer = self.sign_in()
        self.id = answer["user"]["id"]
        call("POST", "/v1/auth/logout", {"refreshToken": answer["refreshToken"]})

    def sign_in(self, device=None):
        body = {"identifier": self.identifier, "password": self.password, "device": device or {"name": "Test"}}
        return call("POST", "/v1/auth/login", body)

    def sessions(self):
        """How many there are, with the one that asks."""
        _, answer = self.sign_in()
        _, list = call("GET", "/v1/auth/sessions", bearer=answer["accessToken"])
        call("POST", "/v1/auth/logout", {"refreshToken": answer["refreshToken"]})
        return len(list["sessions"])


def age_proofs():
    """Whoever is signed in has proved who they are an hour ago."""
    statement = "UPDATE sessions SET authenticated_at = authenticated_at - interval '1 hour'"
    subprocess.run(["psql", "-qXc", statement, os.environ["TOKENS_DATABASE_URL"]], check=True)


def code_for(address, since):
    """Of the newest mail after those of `since`."""
    new = [path for path in mails() - since if address in path.read_text()]
    found = [re.search(r"\b\d{6}\b", path.read_text()) for path in new]
    return next((match.group() for match in found if match), None)


def mails():
    return set(Path(os.environ["MAIL_FOLDER"]).glob("*"))
