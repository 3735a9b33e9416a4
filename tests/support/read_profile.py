#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Reads a profile by the public definition of its protobuf (profile.proto), with no code of the library's, and prints a line
for each sample: its values with their kinds, its labels, and the functions and lines of its stack, the innermost first.

  read_profile.py FILE
"""
import collections
import sys


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def message(data):
    """The values of each field: numbers, or bytes."""
    fields = collections.defaultdict(list)
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            if at + value > len(data):
                sys.exit("a field ends behind its message")
            fields[key >> 3].append(data[at:at + value])
            at += value
        elif key & 7 == 0:
            fields[key >> 3].append(value)
        else:
            sys.exit(f"field {key >> 3} has wire type {key & 7}")
    return fields


def one(fields, number, otherwise=0):
    return fields[number][-1] if fields[number] else otherwise


with open(sys.argv[1], "rb") as file:
    profile = message(file.read())
texts = [each.decode() for each in profile[6]]
if texts[0] != "":
    sys.exit("the first text is not empty")
kinds = [[texts[one(kind, 1)], texts[one(kind, 2)]] for kind in map(message, profile[1])]
functions = {one(f, 1): f for f in map(message, profile[5])}
locations = {one(each, 1): each for each in map(message, profile[4])}
mappings = {one(each, 1) for each in map(message, profile[3])}
if 0 in functions or 0 in locations or any(one(each, 2) not in mappings for each in locations.values()):
    sys.exit("a number that stands for nothing")
print("default:", texts[one(profile, 14)], "period:", one(profile, 12), "comments:", [texts[i] for i in profile[13]])
for sample in map(message, profile[2]):
    if len(sample[2]) != len(kinds):
        sys.exit("a sample has other values than the profile")
    values = " ".join(f"{what}={value} {unit}" for value, (what, unit) in zip(sample[2], kinds))
    labels = " ".join(f"{texts[one(label, 1)]}=<{texts[one(label, 2)]}>" for label in map(message, sample[3]))
    places = []
    for number in sample[1]:
        for line in map(message, locations[number][4]):
            function = functions[one(line, 1)]
            places.append(f"{texts[one(function, 2)]} {texts[one(function, 4)]}:{one(line, 2)}")
    print(values, "|", labels, "|", "; ".join(places))
