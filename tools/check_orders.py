#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Every atomic access writes its memory order, and every order has a reason.

An access with acquire, release, acq_rel or seq_cst has a tag like [rq.1] in a comment on its
lines, directly above its statement, or above the run of atomic accesses that it belongs to. Each
tag occurs at least twice, on the two sides of the pairing. A relaxed access has "relaxed:" and a
reason in the same places, or the tag of the stronger order it goes with (the failure order of a
compare-and-swap).
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
ORDER = re.compile(r"\b(?:memory_order_)?(relaxed|acquire|release|acq_rel|seq_cst)\b(?!\()")
ACCESS = re.compile(r"(?:(?:\.|->)(?:load|store|exchange|compare_exchange_(?:weak|strong)"
                    r"|fetch_(?:add|sub|and|or|xor)|test_and_set|test)"
                    r"|\b(?:atomic_(?:thread|signal)_fence|Traits::fence))\s*\(")
TAG = re.compile(r"(?<![\w\[])\[([a-z]+\.[a-z0-9_]+)\]")
RELAXED = re.compile(r"relaxed: *(?://)? *\w")

errors = []
tags = collections.Counter()
accesses = 0


def split(line):
    code, _, comment = line.partition("//")
    return code, comment


def call(lines, i, start):
    """The text of the call that opens at column `start` of line i, and the line where it closes."""
    depth, text = 0, ""
    for j in range(i, len(lines)):
        code = split(lines[j])[0]
        for c in code[start:] if j == i else code:
            text += c
            depth += (c == "(") - (c == ")")
            if depth == 0 and c == ")":
                return text, j
        text += " "
    return text, len(lines) - 1


def begins_statement(lines, i):
    """Whether the statement on line i begins there: the line before ends one, or is no code."""
    before = split(lines[i - 1])[0].strip() if i else ""
    return before == "" or before[-1] in ";{}" or before.endswith(":") or before.startswith("#")


def reasons(lines, first, last):
    """The comments that speak about lines first..last."""
    found = [split(lines[j])[1] for j in range(first, last + 1)]
    while last + 1 < len(lines) and not split(lines[last])[0].rstrip().endswith((";", "{", "}")):
        last += 1  # the rest of the statement
        found.append(split(lines[last])[1])
    while first and not begins_statement(lines, first):
        first -= 1
        found.append(split(lines[first])[1])
    found += above(lines, first)
    loop = re.match(r"(\s*)} while\b", lines[first])
    if loop and loop.group(1) + "do {" in lines[:first]:
        # The comment above a do-while speaks about its condition too.
        found += above(lines, first - 1 - lines[first - 1::-1].index(loop.group(1) + "do {"))
    return " ".join(found)


def above(lines, first):
    """The comment above line `first`, or above the atomic accesses that stand together with it."""
    found = []
    j = first - 1
    while j >= 0 and lines[j].strip() and not lines[j].strip().startswith("//"):
        code = split(lines[j])[0]
        if not ACCESS.search(code) and not ORDER.search(code) and begins_statement(lines, j + 1):
            break
        j -= 1
    while j >= 0 and lines[j].strip().startswith("//"):
        found.append(lines[j])
        j -= 1
    return found


for path in sorted((root / "include").rglob("*.hpp")):
    if path.name == "order.hpp":
        continue
    name = path.relative_to(root).as_posix()
    lines = path.read_text().splitlines()
    for line in lines:
        tags.update(TAG.findall(split(line)[1]))
    for i, line in enumerate(lines):
        code = split(line)[0]
        for match in ACCESS.finditer(code):
            if "#" in code[:1]:
                continue
            text, last = call(lines, i, match.end() - 1)
            orders = ORDER.findall(text)
            if not orders:
                if not re.search(r"\border\b", text):  # an order that is passed on
                    errors.append(f"{name}:{i + 1}: {match.group().strip('.->(')} without an order")
                continue
            accesses += 1
            comment = reasons(lines, i, last)
            strong = [o for o in orders if o != "relaxed"]
            if strong and not TAG.search(comment):
                errors.append(f"{name}:{i + 1}: {strong[0]} without a [tag]")
            if not strong and not RELAXED.search(comment) and not TAG.search(comment):
                errors.append(f"{name}:{i + 1}: relaxed without a reason")
    # An operator on an atomic hides its order.
    text = "\n".join(split(line)[0] for line in lines)
    for atomic in set(re.findall(r"\batomic<[^;{}()]*>\s+(\w+)\s*[;{=]", text)):
        path_to = rf"(?:\w+(?:\(\))?(?:\.|->))*{atomic}"
        if re.search(rf"(?:\+\+|--){path_to}\b"
                     rf"|(?:^|[;{{}}])\s*{path_to}\s*(?:\+\+|--|[-+|&^]?=(?!=))", text, re.M):
            errors.append(f"{name}: an operator on the atomic {atomic} hides its order")

for tag, count in sorted(tags.items()):
    if count < 2:
        errors.append(f"tag [{tag}] occurs once: where is the other side?")

for error in errors:
    print(f"check_orders: {error}")
if errors:
    sys.exit(1)
print(f"check_orders: {accesses} accesses, {len(tags)} pairings")
