#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Every memory order has a reason.

An access with acquire, release, acq_rel or seq_cst has a tag like [rq.1] in a comment on its line or
in the comment above it; each tag occurs at least twice, on the two sides of the pairing. A relaxed
access has "relaxed:" and a reason in the same places, or the tag of the stronger order it goes
with (the failure order of a compare-and-swap).
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
ORDER = re.compile(r"\b(?:std::memory_order_)?(relaxed|acquire|release|acq_rel|seq_cst)\b(?!\()")
ACCESS = re.compile(r"(?:\.|->|\b)(load|store|exchange|compare_exchange_\w+|fetch_\w+|fence"
                    r"|atomic_thread_fence|test_and_set|clear)\s*\(")
TAG = re.compile(r"(?<!\w)\[([a-z]+\.[a-z0-9_]+)\]")
REACH = 8  # lines of code a comment above may stand away from the access, within one statement

errors = []
tags = collections.Counter()
accesses = 0


def comment_of(lines, i):
    """The comment on line i, and those of the statement that line i belongs to and above it."""
    found = []
    if "//" in lines[i]:
        found.append(lines[i].split("//", 1)[1])
    if i + 1 < len(lines) and "//" in lines[i + 1] and not lines[i].rstrip().endswith((";", "{")):
        found.append(lines[i + 1].split("//", 1)[1])
    for j in range(i - 1, max(-1, i - 1 - REACH), -1):
        line = lines[j].strip()
        if line.startswith("//"):
            found.append(line)
            continue
        if found and lines[j + 1].strip().startswith("//"):
            break
        if "//" in line:
            found.append(line.split("//", 1)[1])
        if not line or line.endswith(("}", "};")) and j < i - 1:
            break
    return " ".join(found)


for path in sorted((root / "include").rglob("*.hpp")):
    if path.name == "order.hpp":
        continue
    name = path.relative_to(root).as_posix()
    lines = path.read_text().splitlines()
    for line in lines:
        if "//" in line:
            tags.update(TAG.findall(line.split("//", 1)[1]))
    for i, line in enumerate(lines):
        code = line.split("//", 1)[0]
        orders = ORDER.findall(code)
        if not orders or not ACCESS.search(" ".join(lines[max(0, i - 3):i + 1])):
            continue
        if "using " in code or "constexpr" in code:
            continue
        accesses += 1
        comment = comment_of(lines, i)
        strong = [o for o in orders if o != "relaxed"]
        if strong and not TAG.search(comment):
            errors.append(f"{name}:{i + 1}: {strong[0]} without a [tag]")
        if not strong and "relaxed:" not in comment and not TAG.search(comment):
            errors.append(f"{name}:{i + 1}: relaxed without a reason")

for tag, count in sorted(tags.items()):
    if count < 2:
        errors.append(f"tag [{tag}] occurs once: where is the other side?")

for error in errors:
    print(f"check_orders: {error}")
if errors:
    sys.exit(1)
print(f"check_orders: {accesses} accesses, {len(tags)} pairings")
