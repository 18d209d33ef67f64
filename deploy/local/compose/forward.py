"""forward.py ADDRESS PORT TO-ADDRESS TO-PORT: carries every connection that comes to the first to the second, as an
engine does for a published port.
"""

import asyncio
import sys


async def carry(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def connected(reader, writer):
    try:
        inner_reader, inner_writer = await asyncio.open_connection(sys.argv[3], int(sys.argv[4]))
    except OSError:
        writer.close()
        return
    await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))
    inner_writer.close()
    writer.close()


async def main():
    server = await asyncio.start_server(connected, sys.argv[1], int(sys.argv[2]))
    await server.serve_forever()


asyncio.run(main())
