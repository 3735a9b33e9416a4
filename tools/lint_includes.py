#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""A header includes nothing of which it uses nothing: `lint_includes.py FILE...`, or all headers.

clang's include cleaner says what is not used. What it cannot know is told to it:
  // IWYU pragma: export       this header includes it for its users: an umbrella, a chooser
  // IWYU pragma: keep         used in a way that it does not see; with a word why
Headers of other platforms are not looked at, as their code is left out here. The cleaner is
$INCLUDE_CLEANER, else clang-include-cleaner-19."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
cleaner = os.environ.get("INCLUDE_CLEANER", "clang-include-cleaner-19")
# No code by themselves, but all of the others.
UMBRELLAS = {"thrum/detail/base/put_macros_aside.hpp", "thrum/detail/base/put_macros_back.hpp",
             "thrum.hpp", "thrum/implementation.hpp"}
# Where platforms have files of their own.
OF_PLATFORMS = ("thrum/detail/arch/", "thrum/detail/os/", "thrum/detail/netpoll/")
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
        found.append((int(line), what, f"includes {what}, of which it uses nothing"))
    return found


def used_here():
    """The headers that the whole library includes on this platform."""
    said = subprocess.run([os.environ.get("CXX", "c++"), "-x", "c++", "-std=c++20", f"-I{root / 'include'}", "-MM",
                           str(root / "include/thrum/implementation.hpp")],
                          capture_output=True, text=True, check=True).stdout
    include = str(root / "include") + "/"
    return {word.removeprefix(include) for word in said.split() if word.startswith(include)}


def is_looked_at(name, here):
    return name not in UMBRELLAS and (name in here or not name.startswith(OF_PLATFORMS))


files = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted((root / "include").rglob("*.hpp"))
here = used_here()
files = [path for path in files if path.suffix == ".hpp" and path.is_relative_to(root / "include")
         and is_looked_at(path.relative_to(root / "include").as_posix(), here)]
errors = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
    for path, found in zip(files, several.map(unused, files)):
        for line, _, says in found:
            print(f"{path.relative_to(root).as_posix()}:{line}: {says}")
            errors += 1
print(f"lint_includes: {len(files)} headers, {errors} errors")
sys.exit(1 if errors else 0)
