"""What pages use of curl, for machines without it.

`curl [-sf] [-X METHOD] [-H HEADER] [-d BODY] URL`
"""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request

_REFUSED = 22
"""How `curl -f` ends when the answer is an error."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-f", action="store_true")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="body")
    parser.add_argument("url")
    given = parser.parse_args()
    body = None if given.body is None else given.body.encode()
    headers = dict(each.split(": ", 1) for each in given.headers)
    request = urllib.request.Request(given.url, body, headers, method=given.method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        if given.f:
            return _REFUSED
        sys.stdout.write(error.read().decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
