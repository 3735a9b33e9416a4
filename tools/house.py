# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""How headers are laid out: what a user may include stands in include/thrum, all else in include/thrum/detail
under the names of the same rooms; a header's bodies, which a program compiles once, stand at its end."""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include/thrum"
BEGIN = re.compile(r"#if THRUM_(?:TEMPLATE_)?BODIES\b")


def short_name(name):
    """As texts call it: sched/run/park.hpp, io/file.hpp."""
    return name.removeprefix("thrum/").removeprefix("detail/")


def find_header(short):
    """Where it stands, or would if it were public."""
    private = include / "detail" / short
    return private if private.exists() else include / short


def headers_of(room):
    """The public and the private headers of a room, which is a folder or one file."""
    return [path for at in (include, include / "detail")
            for path in [*at.glob(f"{room}.hpp"), *sorted((at / room).rglob("*.hpp"))]]


def lines_of_bodies(text):
    """The numbers of the lines, from 0, that stand in bodies; with the #if and #endif around them."""
    depth = 0
    for number, line in enumerate(text.split("\n")):
        if depth or BEGIN.match(line):
            yield number
            depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))


def declarations(text):
    """The text with empty lines for its bodies."""
    inside = set(lines_of_bodies(text))
    return "\n".join("" if number in inside else line for number, line in enumerate(text.split("\n")))
