"""The users of an installation that changes, for locust. Each request counts once, under the name of the step that the file
LOAD_STEP holds when it begins, as one of these types:

  answered     as expected; how long the client waited for that
  resent       without an answer on a connection that was kept, which may close at the moment at which a request is sent
               on it (RFC 9112, section 9.5): the client sends it once more
  unavailable  503 with Retry-After, allowed for 60 s while PostgreSQL's primary changes; the client asks again

Any other outcome is a failure. LOAD_HOOK_PORT is where identity sends messages, LOAD_APPLE the Apple simulator."""

import json
import os
import random
import time
import uuid
from pathlib import Path

import gevent
import requests
from gevent.event import AsyncResult
from gevent.pywsgi import WSGIServer
from locust import HttpUser, between, constant, events, task
from locust.exception import RescheduleTask

STEP = Path(os.environ["LOAD_STEP"])
# By the identifiers of users who wait for a message.
messages = {}


def new_user():
    return {"identifier": f"{uuid.uuid4()}@example.com", "password": "a long enough sentence"}


@events.init.add_listener
def receive_messages(**_):
    """Stands for the team's own service that sends messages."""

    def receive(request, start_response):
        message = json.load(request["wsgi.input"])
        if message["to"] in messages:
            messages.pop(message["to"]).set(message.get("token") or message.get("code"))
        start_response("204 No Content", [])
        return []

    WSGIServer(("127.0.0.1", int(os.environ["LOAD_HOOK_PORT"])), receive, log=None).start()


class Client(HttpUser):
    abstract = True

    def __init__(self, environment):
        super().__init__(environment)
        # Read for each new connection.
        self.client.verify = os.environ["LOAD_AUTHORITIES"]

    def call(self, method, path, body=None, token=None, expected=200):
        """The value of the expected answer."""
        step, began = STEP.read_text().strip(), time.monotonic()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        was_resent = False
        while True:
            with self.client.request(
                method, path, name=step, json=body, headers=headers, timeout=20, catch_response=True
            ) as answer:
                status, meta = answer.status_code, answer.request_meta
                if status == expected:
                    meta["request_type"], meta["response_time"] = "answered", 1000 * (time.monotonic() - began)
                    answer.success()
                    return answer.json() if answer.content else None
                if isinstance(answer.error, requests.ConnectionError) and not was_resent:
                    meta["request_type"], was_resent = "resent", True
                    answer.success()
                    continue
                is_brief = time.monotonic() - began < 60
                if status == 503 and "Retry-After" in answer.headers and step == "switch_over" and is_brief:
                    meta["request_type"] = "unavailable"
                    answer.success()
                else:
                    answer.failure(f"{method} {path}: {answer.error or status} {(answer.text or '')[:200]}")
                    raise RescheduleTask
            gevent.sleep(random.uniform(0.2, 0.5))

    def message_after(self, path, body):
        """The reset token or the code in the message for which the request asks."""
        message = messages[body["identifier"]] = AsyncResult()
        self.call("POST", path, body, expected=202)
        with gevent.Timeout(60, AssertionError(f"no message came to {body['identifier']}")):
            return message.get()

    def keep(self, answer):
        self.access, self.refresh_token = answer["accessToken"], answer["refreshToken"]
        self.until = time.monotonic() + answer["expiresIn"]

    def refresh(self):
        self.keep(self.call("POST", "/v1/auth/refresh", {"refreshToken": self.refresh_token}))

    def valid(self):
        """An access token that lives for the next request."""
        if self.until - time.monotonic() < 5:
            self.refresh()
        return self.access


class App(Client):
    """Signs in once and keeps its session."""

    wait_time = between(0.5, 1.5)

    def on_start(self):
        self.device = {"token": os.urandom(32).hex(), "environment": "sandbox", "bundleId": "com.example.app"}
        self.keep(self.call("POST", "/v1/auth/register", new_user(), expected=201))

    @task
    def renew(self):
        self.refresh()

    @task(2)
    def me(self):
        self.call("GET", "/v1/auth/me", token=self.valid())

    @task
    def register_device(self):
        self.call("POST", "/v1/devices/register", self.device, self.valid())


class SignIn(Client):
    """Users who sign in with a password that was hashed before: each a few times, since attempts are limited."""

    fixed_count = 1
    wait_time = between(0.3, 0.7)
    users = []

    @task
    def sign_in(self):
        user = new_user()
        self.call("POST", "/v1/auth/register", user, expected=201)
        self.users[:] = self.users[-19:] + [user]
        for user in random.sample(self.users, min(4, len(self.users))):
            session = self.call("POST", "/v1/auth/login", user)
            gevent.sleep(random.uniform(0.3, 0.7))
            self.call("POST", "/v1/auth/logout", {"refreshToken": session["refreshToken"]}, expected=204)


class Account(Client):
    """A code makes an account, Apple is linked, the data is exported, and the account is deleted."""

    fixed_count = 1
    # A network's allowance of messages has to last for the whole run.
    wait_time = constant(30)

    @task
    def live(self):
        identifier = new_user()["identifier"]
        code = self.message_after("/v1/auth/code", {"identifier": identifier, "purpose": "signIn"})
        self.keep(self.call("POST", "/v1/auth/code/verify", {"identifier": identifier, "code": code}))
        apple = requests.post(f"{os.environ['LOAD_APPLE']}/simulator/sign-in", json={}, timeout=20).json()
        body = {"identityToken": apple["identityToken"]}
        self.call("POST", "/v1/auth/identities/apple", body, self.valid())
        self.call("GET", "/v1/auth/export", token=self.valid())
        self.call("DELETE", "/v1/auth/account", token=self.valid(), expected=202)


class Reset(Client):
    """A user who has forgotten the password: the message goes through identity's outbox, sealed."""

    fixed_count = 1
    wait_time = constant(30)

    @task
    def reset(self):
        user = new_user()
        self.call("POST", "/v1/auth/register", user, expected=201)
        token = self.message_after("/v1/auth/password/forgot", {"identifier": user["identifier"]})
        body = {"token": token, "newPassword": "another long sentence"}
        self.call("POST", "/v1/auth/password/reset", body, expected=204)
        self.call("POST", "/v1/auth/login", user | {"password": "another long sentence"})
