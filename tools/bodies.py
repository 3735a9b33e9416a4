# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The bodies at the end of a header: what stands under THRUM_BODIES, and a program compiles once."""
import re

BEGIN = re.compile(r"#if THRUM_(?:TEMPLATE_)?BODIES\b")


def lines_of_bodies(text):
    """The numbers of the lines, from 0, that stand in bodies; with the #if and #endif around them."""
    depth = 0
    for number, line in enumerate(text.split("\n")):
        if depth or BEGIN.match(line):
            yield number
            depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))


def split_header(text):
    """(declarations, bodies): the text twice, each time with empty lines for the other half."""
    inside = set(lines_of_bodies(text))
    lines = text.split("\n")
    return ("\n".join("" if number in inside else line for number, line in enumerate(lines)),
            "\n".join(line if number in inside else "" for number, line in enumerate(lines)))
