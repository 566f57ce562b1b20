"""Verifies recorded deliveries with an implementation of Standard Webhooks that is not ours.

    verify_webhooks.py FILE SECRET

FILE has one JSON object per line: {"id", "timestamp", "signature", "body"}. Every line must verify with the
secret, in `whsec_` form, and must not once a byte of it is changed. Prints what was found.
"""

import hashlib
import hmac
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def headers(line):
    return {
        "webhook-id": line["id"],
        "webhook-timestamp": line["timestamp"],
        "webhook-signature": line["signature"],
    }


def must_fail(webhook, body, given, what):
    try:
        webhook.verify(body, given)
    except WebhookVerificationError:
        return
    sys.exit(f"{what} was changed, and the signature still holds")


def main(path, secret):
    webhook = Webhook(secret)
    ids, jobs, lines = set(), set(), 0
    with open(path, encoding="utf-8") as recorded:
        for text in recorded:
            line = json.loads(text)
            given = headers(line)
            body = webhook.verify(line["body"], given)
            # The signature inside is over the same JSON without itself.
            inner = body.pop("signature")
            plain = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            key = webhook._whsecret
            expected = hmac.new(key, plain.encode(), hashlib.sha256).hexdigest()
            if not hmac.compare_digest(inner, expected):
                sys.exit(f"the inner signature of {line['id']} is wrong")
            if lines < 100:
                must_fail(webhook, line["body"].replace("COMPLETED", "COMPLETEd", 1), given, "the body")
                other = dict(given, **{"webhook-id": line["id"] + "0"})
                must_fail(webhook, line["body"], other, "the id")
            ids.add(line["id"])
            jobs.add((line["id"], body["job_id"]))
            lines += 1
    print(json.dumps({"lines": lines, "ids": len(ids), "pairs": len(jobs)}))


main(*sys.argv[1:])
