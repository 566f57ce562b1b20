"""An object store for one test: moto speaks S3, azurite speaks Azure; both written by others.

    serve_objects.py s3|azure BUCKET FOLDER [AZURITE]

Puts what lies in FOLDER below `bronze/uploads/`, prints one JSON object with the variables that a client needs, and then
answers lines: {"get": KEY, "to": FILE} copies an object out, {"reads": KEY} tells how often it was read whole and in
parts (s3 only). Ends when nobody speaks any more.
"""

import base64
import json
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time

KIND, BUCKET, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
START_SECONDS = 60


class S3:
    def __init__(self):
        import boto3
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self.seen = []
        app = DomainDispatcherApplication(create_backend_app)

        def noting(environ, start):
            if environ["REQUEST_METHOD"] == "GET":
                self.seen.append((environ["PATH_INFO"], environ.get("HTTP_RANGE")))
            return app(environ, start)

        self.server = make_server("127.0.0.1", 0, noting, threaded=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{self.server.server_port}"
        # moto asks for no particular key, but for one.
        key, secret = secrets.token_hex(8), secrets.token_hex(16)
        self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1",
                                   aws_access_key_id=key, aws_secret_access_key=secret)
        self.client.create_bucket(Bucket=BUCKET)
        self.env = {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
                    "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
        self.url = f"s3://{BUCKET}"

    def put(self, key, file):
        self.client.upload_file(str(file), BUCKET, key)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def reads(self, key):
        ranges = [part for path, part in self.seen if path == f"/{BUCKET}/{key}"]
        return {"whole": ranges.count(None), "parts": len(ranges) - ranges.count(None)}

    def stop(self):
        self.server.shutdown()


class Azure:
    def __init__(self):
        from azure.storage.blob import BlobServiceClient

        account, key = "strataaccount", secrets.token_bytes(32)
        key = base64.b64encode(key).decode()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        # Not through npx, which would leave the server behind.
        command = ["node", sys.argv[4], "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence",
                   "--blobHost", "127.0.0.1", "--blobPort", str(port)]
        self.child = subprocess.Popen(command, env=os.environ | {"AZURITE_ACCOUNTS": f"{account}:{key}"},
                                      cwd=self.folder.name, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        endpoint = f"http://127.0.0.1:{port}/{account}"
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if self.child.poll() is not None or time.monotonic() > end:
                    sys.exit("azurite does not start")
                time.sleep(0.05)
        connection = f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};BlobEndpoint={endpoint}"
        self.client = BlobServiceClient.from_connection_string(connection)
        self.client.create_container(BUCKET)
        self.env = {"AZURE_STORAGE_ACCOUNT_NAME": account, "AZURE_STORAGE_ACCOUNT_KEY": key,
                    "AZURE_STORAGE_ENDPOINT": endpoint, "AZURE_ALLOW_HTTP": "true"}
        self.url = f"az://{BUCKET}"

    def put(self, key, file):
        self.client.get_blob_client(BUCKET, key).upload_blob(file.read_bytes())

    def get(self, key):
        return self.client.get_blob_client(BUCKET, key).download_blob().readall()

    def stop(self):
        self.child.terminate()
        self.child.wait(10)


def main():
    store = {"s3": S3, "azure": Azure}[KIND]()
    try:
        for file in sorted(FOLDER.iterdir()):
            store.put(f"bronze/uploads/{file.name}", file)
        print(json.dumps({"url": store.url, "env": store.env}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            if "get" in order:
                pathlib.Path(order["to"]).write_bytes(store.get(order["get"]))
                print(json.dumps({}), flush=True)
            else:
                print(json.dumps(store.reads(order["reads"])), flush=True)
    finally:
        store.stop()


main()
