"""Reads an archive of the log with nothing of ours: its leaves and batches are computed again from what is written.

Usage: read_archive.py MANIFEST STORE; prints one JSON object."""

import hashlib
import json
import pathlib
import struct
import sys

import pyarrow.parquet as pq

manifest = json.loads(pathlib.Path(sys.argv[1]).read_bytes())
store = pathlib.Path(sys.argv[2])
micros = lambda time: int(time.timestamp()) * 1_000_000 + time.microsecond


def read(entry):
    path = store / entry["key"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"], path
    table = pq.read_table(path)
    assert table.num_rows == entry["rows"], path
    return table.to_pylist()


def leaf(event):
    parts = (
        event["stream_id"].encode(),
        struct.pack(">q", event["version"]),
        event["type"].encode(),
        struct.pack(">h", event["schema_ver"]),
        event["org_id"].encode(),
        event["meta"],
        event["payload"],
    )
    return hashlib.sha256(b"".join(struct.pack(">q", len(p)) + p for p in parts)).digest()


events = read(manifest["events"])
first, last = manifest["first_pos"], manifest["last_pos"]
assert [event["pos"] for event in events] == list(range(first, last + 1)), "positions"
leaves = {}
wrong = 0
for event in events:
    json.loads(event["payload"])
    leaves[event["pos"]] = leaf(event)
    wrong += leaves[event["pos"]] != event["leaf"]

# The chain, over the batches that lie in the archive as a whole.
chain, batches = bytes.fromhex(manifest["chain_before"]["hash"]), 0
for batch in read(manifest["batches"]):
    start, end = batch["first_pos"], batch["last_pos"]
    if start >= first and end <= last:
        head = struct.pack(">qqq", start, end - start + 1, micros(batch["recorded_at"]))
        body = b"".join(leaves[pos] for pos in range(start, end + 1))
        chain = hashlib.sha256(chain + head + body).digest()
        wrong += chain != batch["hash"]
        batches += 1
    chain = batch["hash"]
print(json.dumps({"events": len(events), "batches": batches, "wrong": wrong}))
