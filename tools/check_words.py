#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""How often the comments of include/ use the words that readers stumble over: each hides the actor of its sentence.

  check_words.py [FILE...]   where they stand in these files
  check_words.py             fails if there are more than MOST of a kind
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
MOST = 20
KINDS = {
    "nobody, somebody, anybody": r"\b(?:nobody|somebody|anybody)\b",
    "The same": r"\bThe same\b",
    "a line that begins with Of, By, To or From": r"^(?:Of|By|To|From)\b",
    "who or whoever as a subject": r"\b(?:Whoever|whoever|Who)\b|(?:^|[.:;] )who\b",
    "is told, are told": r"\b(?:is|are) told\b",
}
COMMENT = re.compile(r"(?:^|\s)///?<? ?(.*)$")


def found_in(path):
    """(line, kind, comment) of each."""
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if comment := COMMENT.search(line):
            for kind, words in KINDS.items():
                for _ in re.finditer(words, comment[1], re.I if kind.startswith("nobody") else 0):
                    yield number, kind, comment[1]


if len(sys.argv) > 1:
    for name in sys.argv[1:]:
        for number, kind, comment in found_in(pathlib.Path(name)):
            print(f"{name}:{number}: {kind}: {comment}")
    sys.exit()
counts = dict.fromkeys(KINDS, 0)
for header in sorted((root / "include").rglob("*.hpp")):
    for _, kind, _ in found_in(header):
        counts[kind] += 1
said = ", ".join(f"{count} x {kind}" for kind, count in counts.items())
print(f"check_words: {said}")
for kind, count in counts.items():
    if count > MOST:
        print(f"check_words: {kind}: {count}; name the actor of the sentence (check_words.py FILE shows them)")
sys.exit(any(count > MOST for count in counts.values()))
