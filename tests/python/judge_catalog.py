"""Looks for items as people do: pystac-client asks stac-fastapi-pgstac, which is started on a database and ended again.

    judge_catalog.py < {"database_url": ..., "collection": ..., "bbox": [...], "elsewhere": [...], "id": ...}

Prints one JSON object: the collections, and the ids that each way of asking finds.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from pystac_client import Client
from pystac_client.stac_api_io import StacApiIO

START_SECONDS = 60
CALL_SECONDS = 20
ALL_SECONDS = 120
# A server that pages in circles is noticed, not followed.
ITEMS_MAX = 100


def start(database_url):
    """The server on a port that nobody else can take meanwhile, and its address."""
    parts = urllib.parse.urlsplit(database_url)
    place = {
        "PGUSER": urllib.parse.unquote(parts.username),
        "PGPASSWORD": urllib.parse.unquote(parts.password or ""),
        "PGHOST": parts.hostname,
        "PGPORT": str(parts.port or 5432),
        "PGDATABASE": parts.path.lstrip("/"),
        "DB_MIN_CONN_SIZE": "1",
        "DB_MAX_CONN_SIZE": "2",
    }
    listening = socket.create_server(("127.0.0.1", 0))
    command = [sys.executable, "-W", "ignore", "-m", "uvicorn", "--factory", "stac_fastapi.pgstac.app:create_app",
               "--fd", str(listening.fileno()), "--log-level", "warning"]
    child = subprocess.Popen(command, env=os.environ | place, pass_fds=[listening.fileno()],
                             stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return child, f"http://127.0.0.1:{listening.getsockname()[1]}"


def wait(child, address):
    end = time.monotonic() + START_SECONDS
    while True:
        if child.poll() is not None:
            sys.exit(f"the server ended with {child.returncode}")
        try:
            # The socket takes connections before the server does; until then this hangs, not fails.
            return urllib.request.urlopen(f"{address}/_mgmt/ping", timeout=2).read()
        except OSError as error:
            if time.monotonic() > end:
                sys.exit(f"the server does not answer: {error}")
            time.sleep(0.05)


def ask(address, wanted):
    client = Client.open(address, stac_io=StacApiIO(timeout=CALL_SECONDS, max_retries=0))

    def ids(**query):
        return sorted(item.id for item in client.search(**query, max_items=ITEMS_MAX).items())

    collection = [wanted["collection"]]
    return {
        "collections": sorted(found.id for found in client.get_collections()),
        "in_collection": ids(collections=collection),
        "in_box": ids(collections=collection, bbox=wanted["bbox"]),
        "elsewhere": ids(collections=collection, bbox=wanted["elsewhere"]),
        "by_id": ids(ids=[wanted["id"]]),
        "pages": ids(collections=collection, limit=1),
        "item": client.get_collection(wanted["collection"]).get_item(wanted["id"]).to_dict()["properties"],
    }


def main():
    # Whatever happens, this ends, and the server with it.
    signal.alarm(ALL_SECONDS)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("it took too long"))
    wanted = json.load(sys.stdin)
    child, address = start(wanted["database_url"])
    try:
        wait(child, address)
        print(json.dumps(ask(address, wanted)))
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


main()
