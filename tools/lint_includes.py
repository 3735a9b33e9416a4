#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""A header includes nothing of which it uses nothing: `lint_includes.py FILE...`, or all headers.

clang's include cleaner says what is not used. What it cannot know is told to it:
  // IWYU pragma: export       this header is for those who include it: an umbrella, a chooser
  // IWYU pragma: keep         used in a way that it does not see; with a word why
What was needless before there was this check stands in lint_includes_known.txt, which may only become shorter:
`--write [FILE...]` writes it anew, or the lines of these. Not looked at is what is for another platform, whose code is left out here. The cleaner is $INCLUDE_CLEANER, else
clang-include-cleaner-19."""
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
cleaner = os.environ.get("INCLUDE_CLEANER", "clang-include-cleaner-19")
known = root / "tools" / "lint_includes_known.txt"
# Their code is for other platforms; or they are no code by themselves, but all of the others.
ELSEWHERE = {"thrum/netpoll/kqueue.hpp", "thrum/base/put_macros_aside.hpp", "thrum/base/put_macros_back.hpp",
             "thrum.hpp", "thrum/implementation.hpp",
             "thrum/arch/aarch64.hpp" if platform.machine() == "x86_64" else "thrum/arch/x86_64_sysv.hpp"}
# No name of these is written where they are used.
NAMELESS = {"<new>": re.compile(r"\bnew \(")}


def unused(path):
    """What a header includes and does not use: (line, what, a sentence)."""
    done = subprocess.run(
        [cleaner, "--print=changes", "--insert=0", path, "--",
         "-x", "c++", "-std=c++20", "-DTHRUM_CHECKS=1", f"-I{root / 'include'}"],
        capture_output=True, text=True, cwd=root)
    if done.returncode != 0:
        return [(1, "?", f"{cleaner} cannot read it: {done.stderr.strip()[:400]}")]
    text = path.read_text()
    found = []
    for what, line in re.findall(r'^- (<[^>]+>|"[^"]+") @Line:(\d+)$', done.stdout, re.M):
        if what in NAMELESS and NAMELESS[what].search(text):
            continue
        # The second half of a header: it is there for those who include the first.
        if what.endswith("_definition.hpp>"):
            continue
        found.append((int(line), what, f"includes {what}, of which it uses nothing"))
    return found


write = sys.argv[1:2] == ["--write"]
names = sys.argv[1 + write:]
files = [pathlib.Path(name).resolve() for name in names] or sorted((root / "include").rglob("*.hpp"))
files = [path for path in files if path.suffix == ".hpp" and path.is_relative_to(root / "include")
         and path.relative_to(root / "include").as_posix() not in ELSEWHERE]
allowed = set(known.read_text().splitlines()) if known.exists() else set()
errors, seen = 0, []
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
    for path, found in zip(files, several.map(unused, files)):
        name = path.relative_to(root).as_posix()
        here = {f"{name} {what}" for _, what, _ in found}
        seen += sorted(here)
        for line, what, says in found:
            if f"{name} {what}" not in allowed and not write:
                print(f"{name}:{line}: {says}")
                errors += 1
        for old in sorted(entry for entry in allowed if entry.split(" ")[0] == name and entry not in here):
            if not write:
                print(f"{known.relative_to(root)}: {old}: is needless no more; take the line out")
                errors += 1
if write:
    looked_at = {path.relative_to(root).as_posix() for path in files}
    others = [entry for entry in allowed if names and entry.split(" ")[0] not in looked_at]
    known.write_text("".join(f"{entry}\n" for entry in sorted(others + seen)))
print(f"lint_includes: {len(files)} headers, {errors} errors, {len(seen)} needless includes known")
sys.exit(1 if errors else 0)
