"""load.py FOLDER   keeps an installation busy and counts, for each step of a change, what its clients were answered.

In FOLDER: `plan.json` says where the gateways are ({"gateways": [{"port", "admin"}], "authority", "hook", "clients", "apple"});
the file `step` names the step that goes on, and `end` ends the run. What was counted stands in `counts.json`, anew each
quarter of a second.

A client keeps one session: it refreshes, asks for its user, and registers its device, in turn. Others sign in, register,
reset passwords, sign in with codes, link an Apple account, export their data and delete the account. Each keeps a connection, to a gateway that says it is ready, as behind a load balancer. A request
counts once, with its first answer, as what it is for whoever waits for it:

  ok           the answer that was to be expected
  unavailable  503 with Retry-After, which the design allows while a database changes over; the client asks again
  failed       anything else: another status, no answer, a session that was lost

A kept connection may be closed at the moment at which a request is sent on it (RFC 9112, section 9.5). A request on
which no answer came is then sent once more on a new connection, and counted as `resent` besides."""

import asyncio
import json
import os
import pathlib
import random
import socket
import ssl
import sys
import time

import aiohttp
from aiohttp import web

folder = pathlib.Path(sys.argv[1])
plan = json.loads((folder / "plan.json").read_text())


class Counts:
    """What became of the requests of each step, by the step in which they began."""

    def __init__(self):
        self.steps = {}

    def of(self, step):
        return self.steps.setdefault(
            step,
            {"requests": 0, "unavailable": 0, "failed": 0, "resent": 0, "worst": 0.0, "longest_away": 0.0, "why": []},
        )

    def add(self, step, seconds, why=None, unavailable=False):
        counts = self.of(step)
        counts["requests"] += 1
        counts["worst"] = max(counts["worst"], seconds)
        if unavailable:
            counts["unavailable"] += 1
        elif why:
            counts["failed"] += 1
            if len(counts["why"]) < 10:
                counts["why"].append(why)


counts = Counts()
current_step = "start"
ready = []


class Ended(Exception):
    """The run is over."""


class ReadyGateways(aiohttp.abc.AbstractResolver):
    """Each new connection leads to one of the gateways that say they are ready."""

    async def resolve(self, host, port=0, family=socket.AF_INET):
        if not ready:
            raise OSError("no gateway is ready")
        port = random.choice(ready)["port"]
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}]

    async def close(self):
        pass


trust = ssl.create_default_context(cafile=plan["authority"])
NO_ANSWER = (aiohttp.ClientError, OSError, asyncio.TimeoutError)


class Client:
    """One connection at a time, and the rules of asking again."""

    def __init__(self):
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_start.append(self.note(False))
        trace.on_connection_reuseconn.append(self.note(True))
        self.was_kept = False
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1, resolver=ReadyGateways(), use_dns_cache=False, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=20, sock_connect=10),
            trace_configs=[trace],
        )

    def note(self, was_kept):
        async def note(*_):
            self.was_kept = was_kept

        return note

    async def call(self, method, path, body=None, token=None, expected=200):
        """Asks until there is the answer that is expected; the first outcome is what counts.

        Returns the answer's JSON. Raises Ended at the end of the run, and Refused where asking again is of no use."""
        step, began, told = current_step, time.monotonic(), False
        while True:
            try:
                status, fields, text = await self.once(step, method, path, body, token)
            except NO_ANSWER as error:
                why, status, fields, text = repr(error), None, {}, b""
            else:
                why = f"{status} {text[:200].decode(errors='replace')}"
            if status == expected:
                if told:
                    away = time.monotonic() - began
                    counts.of(step)["longest_away"] = max(counts.of(step)["longest_away"], away)
                else:
                    counts.add(step, time.monotonic() - began)
                return json.loads(text) if text else None
            if not told:
                told = True
                is_unavailable = status == 503 and "Retry-After" in fields
                counts.add(step, time.monotonic() - began, f"{method} {path}: {why}", unavailable=is_unavailable)
            if (folder / "end").exists():
                raise Ended
            if status is not None and status < 500:
                raise Refused(f"{method} {path}: {why}")
            await asyncio.sleep(random.uniform(0.2, 0.5))

    async def once(self, step, method, path, body, token):
        try:
            return await self.send(method, path, body, token)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not self.was_kept:
                raise
            counts.of(step)["resent"] += 1
            return await self.send(method, path, body, token)

    async def send(self, method, path, body, token):
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        # The certificate is for this name.
        async with self.session.request(method, f"https://localhost{path}", json=body, headers=fields) as answer:
            return answer.status, answer.headers, await answer.read()


class Refused(Exception):
    """An answer after which asking again would be of no use: the client begins a new life."""


names = iter(range(10**9))
run_id = f"{os.getpid()}-{int(time.time())}"
password = "a long enough sentence"


def new_identifier():
    return f"load-{run_id}-{next(names)}@example.com"


class Session:
    """A client that is signed in."""

    def __init__(self, client, answer):
        self.client = client
        self.device = os.urandom(32).hex()
        self.take(answer)

    def take(self, answer):
        self.access, self.refresh_token = answer["accessToken"], answer["refreshToken"]
        self.until = time.monotonic() + answer["expiresIn"]

    async def refresh(self):
        self.take(await self.client.call("POST", "/v1/auth/refresh", {"refreshToken": self.refresh_token}))
        stamps[id(self)] = time.time()

    async def valid(self):
        """An access token that lives for the next request."""
        if self.until - time.monotonic() < 5:
            await self.refresh()
        return self.access

    async def me(self):
        await self.client.call("GET", "/v1/auth/me", token=await self.valid())

    async def register_device(self):
        registration = {"token": self.device, "environment": "sandbox", "bundleId": "com.example.app"}
        await self.client.call("POST", "/v1/devices/register", registration, token=await self.valid())


# When each session was last refreshed, by its identity.
stamps = {}


async def live():
    """A client's life: it signs in once, and then keeps its session."""
    client = Client()
    answer = await client.call(
        "POST", "/v1/auth/register", {"identifier": new_identifier(), "password": password}, expected=201
    )
    session = Session(client, answer)
    stamps[id(session)] = time.time()
    try:
        while not (folder / "end").exists():
            for act in (session.refresh, session.me, session.register_device, session.me):
                await act()
                await asyncio.sleep(random.uniform(0.5, 1.5))
    finally:
        stamps.pop(id(session), None)


async def sign_in():
    """People who sign in with a password that was hashed before: each a few times, as nobody may try for ever."""
    client = Client()
    identifiers = []
    while not (folder / "end").exists():
        identifiers = identifiers[-20:] + [new_identifier()]
        body = {"identifier": identifiers[-1], "password": password}
        await client.call("POST", "/v1/auth/register", body, expected=201)
        for identifier in random.sample(identifiers, min(4, len(identifiers))):
            answer = await client.call("POST", "/v1/auth/login", {"identifier": identifier, "password": password})
            await asyncio.sleep(random.uniform(0.3, 0.7))
            body = {"refreshToken": answer["refreshToken"]}
            await client.call("POST", "/v1/auth/logout", body, expected=204)


letters = {}


async def letter_to(identifier, ask):
    """What the message to the identifier holds, a reset token or a code, after `ask`; None where none came."""
    letter = letters[identifier] = asyncio.get_running_loop().create_future()
    step, began = current_step, time.monotonic()
    await ask
    try:
        return await asyncio.wait_for(letter, 60)
    except asyncio.TimeoutError:
        counts.add(step, time.monotonic() - began, f"no message to {identifier}")
        return None


async def account():
    """The life of an account: a code makes it, Apple is linked, its data is exported, and it is deleted."""
    client = Client()
    while not (folder / "end").exists():
        identifier = new_identifier()
        body = {"identifier": identifier, "purpose": "signIn"}
        code = await letter_to(identifier, client.call("POST", "/v1/auth/code", body, expected=202))
        if code is None:
            continue
        body = {"identifier": identifier, "code": code}
        session = Session(client, await client.call("POST", "/v1/auth/code/verify", body))
        body = {"identityToken": await apple_identity_token()}
        await client.call("POST", "/v1/auth/identities/apple", body, await session.valid())
        await client.call("GET", "/v1/auth/export", token=await session.valid())
        await client.call("DELETE", "/v1/auth/account", token=await session.valid(), expected=202)
        # The network's allowance of messages has to last for the whole run.
        await asyncio.sleep(plan["reset_pause"])


async def apple_identity_token():
    async with aiohttp.request("POST", f"{plan['apple']}/simulator/sign-in", json={}) as answer:
        return (await answer.json())["identityToken"]


async def reset():
    """Somebody who has forgotten the password: the message goes through identity's outbox, sealed."""
    client = Client()
    while not (folder / "end").exists():
        identifier = new_identifier()
        await client.call("POST", "/v1/auth/register", {"identifier": identifier, "password": password}, expected=201)
        body = {"identifier": identifier}
        token = await letter_to(identifier, client.call("POST", "/v1/auth/password/forgot", body, expected=202))
        if token is None:
            continue
        body = {"token": token, "newPassword": password + " more"}
        await client.call("POST", "/v1/auth/password/reset", body, expected=204)
        body = {"identifier": identifier, "password": password + " more"}
        await client.call("POST", "/v1/auth/login", body)
        # The network's allowance of messages has to last for the whole run.
        await asyncio.sleep(plan["reset_pause"])


async def again(life):
    """A life that a refusal ended begins anew: the refusal was counted."""
    while not (folder / "end").exists():
        try:
            await life()
        except Refused:
            await asyncio.sleep(1)
        except Ended:
            return


async def receive(request):
    """The team's own service that sends messages (IDENTITY_RESET_HOOK_URL, IDENTITY_MESSAGE_HOOK_URL)."""
    message = await request.json()
    waiting = letters.pop(message["to"], None)
    if waiting and not waiting.done():
        waiting.set_result(message.get("token") or message.get("code"))
    return web.Response(status=204)


async def is_ready(session, gateway):
    try:
        async with session.get(f"http://127.0.0.1:{gateway['admin']}/readyz") as answer:
            return answer.status == 200
    except NO_ANSWER:
        return False


async def watch_gateways():
    """Which gateways get new connections: what a load balancer does."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=1)) as session:
        while True:
            states = await asyncio.gather(*[is_ready(session, gateway) for gateway in plan["gateways"]])
            ready[:] = [gateway for gateway, state in zip(plan["gateways"], states) if state]
            # Of a new authority too.
            trust.load_verify_locations(plan["authority"])
            await asyncio.sleep(0.2)


async def keep_counts():
    global current_step
    while True:
        try:
            current_step = (folder / "step").read_text().strip() or current_step
        except FileNotFoundError:
            pass
        oldest = min(stamps.values(), default=0)
        document = {"step": current_step, "oldest_refresh": oldest, "sessions": len(stamps), "steps": counts.steps}
        (folder / "counts.json.new").write_text(json.dumps(document))
        (folder / "counts.json.new").rename(folder / "counts.json")
        await asyncio.sleep(0.25)


async def main():
    watchers = [asyncio.create_task(watch_gateways()), asyncio.create_task(keep_counts())]
    hook = web.Application()
    hook.add_routes([web.post("/{name}", receive)])
    runner = web.AppRunner(hook)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", plan["hook"]).start()
    while not ready:
        await asyncio.sleep(0.1)
    lives = [again(sign_in), again(reset), again(account)]
    lives += [again(live) for _ in range(plan["clients"])]
    tasks = []
    for life in lives:
        tasks.append(asyncio.create_task(life))
        # Not all at once: each begins with a password that is hashed.
        await asyncio.sleep(0.3)
    await asyncio.gather(*tasks)
    await asyncio.sleep(0.5)
    for watcher in watchers:
        watcher.cancel()
    await runner.cleanup()


asyncio.run(main())
