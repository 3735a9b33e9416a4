#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The pages of README.md and docs/ agree with each other and with what they name.

- Each link inside the repository leads to a file, and to a heading of it; each `tools/...` in code is a file, and each
  `./dev ...` a command.
- Each step of docs/walks.md names a function that is in its file.
- Each limit of docs/limits.md says how it is noticed and what to do.
- The README has at most 200 lines.
- The tests that docs/promises.md names are there, and each promise of the README has such a section.
- README's table of numbers is what the page of its machine in docs/performance/ says.

  check_docs.py             checks
  check_docs.py --numbers   writes README's table of numbers anew
"""
import functools
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
# `[text](target)`, not inside code; a picture's, too.
LINK = re.compile(r"!?\[((?:[^][]|\[[^][]*\])*)\]\(([^()\s]+)\)")
README_LINES = 200
BEGIN, END = "<!-- numbers -->", "<!-- end of numbers -->"
# The page whose numbers the README shows, and the rows that it shows, with 2 processors.
MACHINE = "docs/performance/amd-epyc-2-cpus.md"
ROWS = ["spawn one, join it", "spawn 1,000", "yield among 1,000", "yield among 1,000,000", "ping-pong", "unbuffered channel",
        "buffered channel (128)", "select of 2, unbuffered", "mutex, 100 contenders", "skynet", "fib by spawns", "1,000 sleepers",
        "process"]


def pages():
    return [root / "README.md", *(root / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "packaging/README.md")),
            *sorted((root / "docs").rglob("*.md"))]


@functools.cache
def prose(page):
    """The page without what is code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", lambda code: re.sub(r"[][()]", " ", code[0]), text)


def slug(heading):
    """What a heading is called in links, on hosts of repositories and on our site."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


@functools.cache
def sections(page):
    """Name in links: (heading, its text down to the next heading of its rank or a higher one)."""
    text = page.read_text()
    code = [match.span() for match in re.finditer(r"^```.*?^```$", text, flags=re.M | re.S)]
    heads = [head for head in re.finditer(r"^(#+) (.+)$", text, flags=re.M) if not any(a < head.start() < b for a, b in code)]
    found = {}
    for i, head in enumerate(heads):
        end = next((later.start() for later in heads[i + 1:] if len(later[1]) <= len(head[1])), len(text))
        name, n = slug(head[2]), 0
        while name in found:
            n += 1
            name = f"{slug(head[2])}-{n}"
        found[name] = (head[2], text[head.end():end])
    return found


def links(page, text=None):
    """(as written, path, heading or None) of each link inside the repository."""
    for match in LINK.finditer(prose(page) if text is None else text):
        target = match[2]
        if re.match(r"\w+:", target):
            continue
        path, _, heading = target.partition("#")
        yield target, (page.parent / path).resolve() if path else page, heading or None


def dead_links():
    for page in pages():
        for target, path, heading in links(page):
            where = page.relative_to(root)
            if not path.exists() or root not in path.parents:
                yield f"{where}: {target}: there is no such file"
            elif path.is_dir():
                yield f"{where}: {target}: leads to a folder, which a site has no page of"
            elif heading is not None and path.suffix == ".md" and heading not in sections(path):
                yield f"{where}: {target}: there is no such heading"


def unreadable():
    lines = (root / "README.md").read_text().count("\n")
    if lines > README_LINES:
        yield f"README.md has {lines} lines, which a stranger does not read: more than {README_LINES} belong into docs/"


def limits_without_help():
    for heading, text in sections(root / "docs/limits.md").values():
        for words in ("**You notice** ", "**Do** "):
            if heading != "Limits" and words not in text:
                yield f"docs/limits.md: '{heading}' has no paragraph that begins with {words.strip()}"


def unknown_names():
    """Files of the repository, and commands of ./dev, that are named and that there are not."""
    script = root / "dev"
    commands = set(re.findall(r"^\./dev ([a-z]+)", script.read_text(), flags=re.M))
    for page in pages():
        text, where = page.read_text(), page.relative_to(root)
        for name in re.findall(r"`((?:tools|tests|docs|examples|include|bench|packaging|cmake|single_include|\.ci)/[\w./-]+)`", text):
            if "NAME" not in name and not (root / name).exists() and not any(root.glob(name.rstrip("/") + ".*")):
                yield f"{where}: there is no {name}"
        for name in re.findall(r"\./dev ([a-z]+)", text):
            if name not in commands:
                yield f"{where}: ./dev has no command {name}"


def lost_steps():
    for file, function in re.findall(r"^\d+\. `([\w/]+\.hpp)` `(\w+)`: ", (root / "docs/walks.md").read_text(), flags=re.M):
        headers = [path for path in (root / "include/thrum" / file, root / "include/thrum/detail" / file) if path.exists()]
        if not any(re.search(rf"\b{function}\(", path.read_text()) for path in headers):
            yield f"docs/walks.md: {file} has no {function}()"


def promises_without_tests():
    page = root / "docs/promises.md"
    named = 0
    for heading, text in [each for each in sections(page).values() if each[0] != "Promises and the tests that hold them"]:
        tests = re.findall(r"^- `([\w/.]+)`: (.+)$", text, flags=re.M)
        if not tests:
            yield f"docs/promises.md: '{heading}' names no test"
        for file, name in tests:
            named += 1
            path = root / "tests" / file
            if not path.exists() or f'("{name}"' not in re.sub(r'"\s*\n\s*"', "", re.sub(r"\(\s+", "(", path.read_text())):
                yield f"docs/promises.md: tests/{file} has no test '{name}'"
    table = sections(root / "README.md")["promises"][1]
    rows = len(re.findall(r"^\| ", table, flags=re.M)) - 2
    if rows != len(sections(page)) - 1:
        yield f"README.md promises {rows} things, docs/promises.md has tests of {len(sections(page)) - 1}"


def numbers():
    """README's table."""
    text = (root / MACHINE).read_text()
    measured = re.search(r"^Measured on (.+)\n(?:.*\n)*?\n(thrum .+)$", text, flags=re.M)
    machine = re.sub(r"\.$", "", re.search(r"^Measured on (.+)$", text, flags=re.M)[1])
    noise = re.search(r"Other programs used ([\d.]+) of the CPUs", text)
    table = text[text.index("## 2 processors"):]
    found = dict(re.findall(r"^\| ([^|]+?) \| (.+) \|$", table, flags=re.M))
    out = [f"{machine}; {measured[2].rstrip('.')}."]
    if noise:
        doubt = ", so only large differences count" if float(noise[1]) > 0.1 else ""
        out.append(f"Other programs used {noise[1]} CPUs meanwhile{doubt}.")
    out += ["", "| work, 2 processors | thrum | Go | Boost.Fiber | tokio | oneTBB |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in ROWS:
        cells = [re.sub(r" \[.*?\]", "", cell) for cell in found[row].split(" | ")]
        cells = [cells[0]] + [re.sub(r"^.*\((.+)x\)$", r"\1x", cell) for cell in cells[1:]]
        cells = [cell if not cell.endswith("x") or float(cell[:-1].replace(",", "")) >= 1 else f"**{cell}**" for cell in cells]
        out.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def stale_numbers(write):
    page = root / "README.md"
    text = page.read_text()
    before, rest = text.split(BEGIN + "\n")
    table, after = rest.split(END)
    if table == numbers():
        return
    if write:
        page.write_text(f"{before}{BEGIN}\n{numbers()}{END}{after}")
    else:
        yield f"README.md: its numbers are not those of {MACHINE}: python3 tools/check_docs.py --numbers"


def main():
    errors = [*stale_numbers("--numbers" in sys.argv[1:]), *dead_links(), *unreadable(), *limits_without_help(), *unknown_names(), *lost_steps(),
              *promises_without_tests()]
    for error in errors:
        print(f"check_docs: {error}")
    if errors:
        return 1
    print(f"check_docs: {len(pages())} pages, {sum(1 for page in pages() for _ in links(page))} links")
    return 0


if __name__ == "__main__":
    sys.exit(main())
