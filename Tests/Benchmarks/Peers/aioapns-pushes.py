"""aioapns-pushes.py URL KEY-FILE TOPIC PAYLOAD COUNT   sends COUNT pushes to the simulated APNs at URL.

Prints seconds, and seconds of CPU time.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

from aioapns import APNs, NotificationRequest, PushType


async def main(url, key_file, topic, payload, count):
    with open(key_file) as file:
        text = file.read()
    key = text[text.index("-----BEGIN") :]
    client = APNs(key=key, key_id="DEVKEY0000", team_id="DEVTEAM000", topic=topic, max_connections=3)
    # The simulated APNs speaks HTTP/2 in clear text.
    client.pool.ssl_context = None
    protocol, server = client.pool.protocol_class, urlsplit(url)
    protocol.APNS_SERVER, protocol.APNS_PORT = server.hostname, server.port
    message, in_flight = json.loads(payload), asyncio.Semaphore(300)

    async def send(number):
        request = NotificationRequest(
            device_token=f"{number:064x}",
            message=message,
            priority=10,
            time_to_live=86_400,
            push_type=PushType.ALERT,
        )
        async with in_flight:
            return await client.send_notification(request)

    await send(0)
    start, cpu = time.monotonic(), time.process_time()
    results = await asyncio.gather(*(send(number % 1000) for number in range(count)))
    print(time.monotonic() - start, time.process_time() - cpu)
    client.pool.close()
    if not all(result.is_successful for result in results):
        sys.exit("A push was refused.")


asyncio.run(main(*sys.argv[1:5], int(sys.argv[5])))
