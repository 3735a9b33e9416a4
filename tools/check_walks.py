#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""docs/walks.md: each step names a function that is in its file, and the pictures are of this text.

  check_walks.py          checks
  check_walks.py --draw   draws the pictures anew
"""
import html
import pathlib
import re
import sys

import house

root = pathlib.Path(__file__).resolve().parent.parent
STEP = re.compile(r"(\d+)\. `([\w/]+\.hpp)` `(\w+)`: (.+)")
COLUMN, ROW, BOX_WIDTH, BOX_HEIGHT, TOP = 268, 48, 244, 36, 56


def read_walks(text):
    """Each walk: (picture's name, title, [(column's name, number, file, function, line), ...])."""
    walks = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        title, *lines = section.split("\n")
        picture, column, steps = None, None, []
        for line in lines:
            if match := re.match(r"!\[picture\]\(walks/(\w+)\.svg\)", line):
                picture = match.group(1)
            elif line.startswith("### "):
                column = line[4:].removesuffix(" again")
            elif match := STEP.match(line):
                steps.append((column, *match.groups()))
        walks.append((picture, title, steps))
    return walks


def draw(title, steps):
    """A column for each stack, a row for each step, an arrow from each step to the next."""
    columns = list(dict.fromkeys(step[0] for step in steps))
    width, height = COLUMN * len(columns), TOP + ROW * len(steps)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           f"<title>{html.escape(title)}</title>",
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for i, column in enumerate(columns):
        x = i * COLUMN
        out.append(f'<rect x="{x + 4}" y="4" width="{COLUMN - 8}" height="{height - 8}" rx="8" '
                   f'fill="{"#f3f5fa" if i % 2 == 0 else "#faf6ee"}"/>')
        words, rows = column.split(), [""]
        for word in words:
            if len(rows[-1]) + len(word) > 36:
                rows.append("")
            rows[-1] += ("" if rows[-1] == "" else " ") + word
        for n, row in enumerate(rows):
            out.append(f'<text x="{x + COLUMN / 2:g}" y="{22 + 15 * n}" text-anchor="middle" '
                       f'font-weight="bold" fill="#223">{html.escape(row)}</text>')
    before = None
    for row, (column, number, file, function, _) in enumerate(steps):
        x = columns.index(column) * COLUMN + (COLUMN - BOX_WIDTH) / 2
        y = TOP + row * ROW
        if before is not None:
            from_x, from_y = before
            if from_x == x:
                out.append(f'<path d="M{x + BOX_WIDTH / 2:g} {from_y + BOX_HEIGHT:g}V{y:g}" stroke="#667" '
                           'fill="none" marker-end="url(#tip)"/>')
            else:  # out of its side, along the gap, into the other's side
                side = from_x + BOX_WIDTH if x > from_x else from_x
                entry = x if x > from_x else x + BOX_WIDTH
                out.append(f'<path d="M{side:g} {from_y + BOX_HEIGHT / 2:g}L{entry:g} {y + BOX_HEIGHT / 2:g}" '
                           'stroke="#a33" fill="none" stroke-dasharray="5 3" marker-end="url(#tip)"/>')
        out.append(f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" fill="#fff" '
                   'stroke="#667"/>')
        out.append(f'<text x="{x + 8:g}" y="{y + 15:g}" fill="#223" font-weight="bold">'
                   f'{number}  {html.escape(function)}</text>')
        out.append(f'<text x="{x + 8:g}" y="{y + 29:g}" fill="#556" font-size="11">{html.escape(file)}</text>')
        before = (x, y)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    errors = []
    walks = read_walks((root / "docs/walks.md").read_text())
    steps_of_all = 0
    for picture, title, steps in walks:
        if picture is None or not steps:
            errors.append(f"'{title}' has no picture or no steps")
            continue
        steps_of_all += len(steps)
        for expected, (_, number, file, function, _) in enumerate(steps, 1):
            path = house.find_header(file)
            if int(number) != expected:
                errors.append(f"'{title}': step {number} should be {expected}")
            if not path.exists():
                errors.append(f"'{title}', step {number}: there is no {file}")
            elif not re.search(rf"\b{function}\(", path.read_text()):
                errors.append(f"'{title}', step {number}: {file} has no {function}()")
        target = root / "docs/walks" / f"{picture}.svg"
        drawn = draw(title, steps)
        if "--draw" in sys.argv[1:]:
            target.parent.mkdir(exist_ok=True)
            target.write_text(drawn)
        elif not target.exists() or target.read_text() != drawn:
            errors.append(f"docs/walks/{picture}.svg is not of this text: python3 tools/check_walks.py --draw")
    for error in errors:
        print(f"check_walks: {error}")
    if errors:
        return 1
    print(f"check_walks: {len(walks)} walks, {steps_of_all} steps")
    return 0


sys.exit(main())
