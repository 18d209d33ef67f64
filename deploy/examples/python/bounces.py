#!/usr/bin/env python3
"""bounces.py    Reads one mail that came back (RFC 3464) on standard input, and reports to identity the recipients that
it did not reach.

A mail server runs it for the address that mails are sent from, as in Postfix: mailer: "|/usr/local/bin/bounces.py".
IDENTITY_URL, BOUNCES_CREDENTIAL: where identity is, and one of IDENTITY_BOUNCES_CREDENTIALS. Ends with 75 (EX_TEMPFAIL)
when identity does not take a report, so that the mail server tries again; recipients reported before then count twice.

An attacker can forge such a mail. Refuse those that the mail server's spam rules refuse."""

import email  # noqa: E401
import json
import os
import re
import sys
import urllib.error
import urllib.request
from email import policy


def bounces(mail):
    """The address and the status of each recipient that the mail will never reach."""
    if mail.get_content_type() != "multipart/report" or not mail.is_multipart():
        return
    for part in mail.get_payload():  # Not what lies within the mail that came back.
        if part.get_content_type() == "message/delivery-status":
            for recipient in part.get_payload()[1:]:  # The first block tells of the mail, each other of a recipient.
                # As the mail was addressed; behind an alias, Final-Recipient is another address.
                field = recipient.get("Original-Recipient") or recipient.get("Final-Recipient", "")
                kind, _, address = field.partition(";")
                failed = re.match(r"\s*failed\b", recipient.get("Action", ""), re.I)
                status = re.match(r"\s*(5\.\d{1,3}\.\d{1,3})\b", recipient.get("Status", ""))
                if failed and kind.strip().lower() == "rfc822":
                    yield unescaped(address.strip()), status and status[1]


def unescaped(xtext):
    """RFC 3461 §4: `+2B` is a plus sign."""
    return re.sub(r"\+([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), xtext)


def tell(address, status):
    report = {"identifier": address} | ({"status": status} if status else {})
    request = urllib.request.Request(
        os.environ["IDENTITY_URL"] + "/internal/messages/bounces",
        json.dumps(report).encode(),
        {"Content-Type": "application/json", "Gatehouse-Credential": os.environ["BOUNCES_CREDENTIAL"]},
    )
    urllib.request.urlopen(request, timeout=10).close()


if __name__ == "__main__":
    for address, status in bounces(email.message_from_binary_file(sys.stdin.buffer, policy=policy.compat32)):
        try:
            tell(address, status)
        except urllib.error.HTTPError as error:
            print(f"identity answered {error.code}", file=sys.stderr)
            if error.code != 400:  # 400: not an address; there is nothing to report.
                sys.exit(75)
        except OSError:
            sys.exit(75)
