"""probe.py EXPECTED HOST: tries every pair and port that begins at this host, and prints what is not as expected.

Whoever is let through is answered: by a service, or by the system, which refuses where nothing listens. What a policy
stops is dropped, and nothing comes.
"""

import asyncio
import json
import socket
import sys

PATIENCE = 1.0


async def reaches(address, number, protocol):
    loop = asyncio.get_running_loop()
    kind = socket.SOCK_STREAM if protocol == "TCP" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as connection:
        connection.setblocking(False)
        try:
            async with asyncio.timeout(PATIENCE):
                await loop.sock_connect(connection, (address, number))
                if protocol == "UDP":
                    # An answer, or the message that nobody listens.
                    await loop.sock_sendall(connection, b"?")
                    await loop.sock_recv(connection, 1)
        except ConnectionRefusedError:
            return True
        except (TimeoutError, OSError):
            return False
    return True


async def main():
    expected, host = json.load(open(sys.argv[1])), sys.argv[2]
    tries = [
        (pair["to"], port, may, pair["address"])
        for pair in expected
        if pair["from"] == host
        for port, may in pair["ports"].items()
    ]
    results = await asyncio.gather(
        *(reaches(address, int(port.split("/")[0]), port.split("/")[1]) for _, port, _, address in tries)
    )
    wrong = 0
    for (target, port, may, _), reached in zip(tries, results):
        if may != reached:
            wrong += 1
            print(f"{host} {'reaches' if reached else 'does not reach'} {target} on port {port}", file=sys.stderr)
    print(len(tries), sum(results), wrong)


asyncio.run(main())
