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
import platform
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
cleaner = os.environ.get("INCLUDE_CLEANER", "clang-include-cleaner-19")
# Their code is for other platforms; or they are no code by themselves, but all of the others.
ELSEWHERE = {"thrum/netpoll/kqueue.hpp", "thrum/base/put_macros_aside.hpp", "thrum/base/put_macros_back.hpp",
             "thrum.hpp", "thrum/implementation.hpp",
             *(f"thrum/arch/{name}.hpp" for machine, name in
               {"x86_64": "x86_64_sysv", "aarch64": "aarch64", "riscv64": "riscv64", "i686": "i686",
                "armv7l": "armhf", "s390x": "s390x", "ppc64le": "ppc64le",
                "loongarch64": "loongarch64"}.items()
               if machine != platform.machine())}
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
        # The two halves of a header: the first includes the second for its users, and the first says
        # what the second may use.
        half = f"<{path.relative_to(root / 'include').as_posix()}>"
        if what.endswith("_definition.hpp>") or half == what.replace(".hpp>", "_definition.hpp>"):
            continue
        found.append((int(line), what, f"includes {what}, of which it uses nothing"))
    return found


files = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted((root / "include").rglob("*.hpp"))
files = [path for path in files if path.suffix == ".hpp" and path.is_relative_to(root / "include")
         and path.relative_to(root / "include").as_posix() not in ELSEWHERE]
errors = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
    for path, found in zip(files, several.map(unused, files)):
        for line, _, says in found:
            print(f"{path.relative_to(root).as_posix()}:{line}: {says}")
            errors += 1
print(f"lint_includes: {len(files)} headers, {errors} errors")
sys.exit(1 if errors else 0)
