"""Follows all events with the client gql, loses its connection again and again, and comes back by cursor.

Prints the position of every event that it gets, one per line. Usage: follow.py URL KEY CURSOR
"""

import asyncio
import sys

from gql import Client, gql
from gql.transport.websockets import WebsocketsTransport

QUERY = gql(
    "subscription($after: String) { events(after: $after) { cursor event { position type data } } }"
)
EVENTS_PER_CONNECTION = 170


async def one_connection(url, key, after):
    """Events of one connection, until it is cut; the last cursor, and whether all is done."""
    transport = WebsocketsTransport(
        url=url,
        init_payload={"Authorization": f"Bearer {key}"},
        subprotocols=[WebsocketsTransport.GRAPHQLWS_SUBPROTOCOL],
        # What is still on its way when the connection is cut is of no interest.
        close_timeout=0.2,
    )
    seen = 0
    async with Client(transport=transport) as session:
        document = QUERY
        document.variable_values = {"after": after}
        async for result in session.subscribe(document):
            message = result["events"]
            event = message["event"]
            print(event["position"], flush=True)
            after = message["cursor"]
            seen += 1
            if event["type"] == "request_submitted" and event["data"]["workflow_id"] == "nothing":
                return after, True
            if seen == EVENTS_PER_CONNECTION:
                return after, False
    return after, False


async def main():
    url, key, after = sys.argv[1:4]
    connections, done = 0, False
    while not done:
        connections += 1
        after, done = await one_connection(url, key, after)
    print(f"{connections} connections", file=sys.stderr)


asyncio.run(main())
