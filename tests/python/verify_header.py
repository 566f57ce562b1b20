"""Verifies the headers of recorded deliveries with an implementation of Standard Webhooks that is not ours.

    verify_header.py FILE SECRET

FILE is as for verify_webhooks.py. SECRET is `whsec_` and base64, or any other text, which is the key itself.
"""

import json
import sys

from standardwebhooks import Webhook


def main(path, secret):
    webhook = Webhook(secret if secret.startswith("whsec_") else secret.encode())
    lines = 0
    with open(path, encoding="utf-8") as recorded:
        for text in recorded:
            line = json.loads(text)
            webhook.verify(
                line["body"],
                {
                    "webhook-id": line["id"],
                    "webhook-timestamp": line["timestamp"],
                    "webhook-signature": line["signature"],
                },
            )
            lines += 1
    print(json.dumps({"lines": lines}))


main(*sys.argv[1:])
