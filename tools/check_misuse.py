#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What the compiler says of wrong programs: of each in tests/misuse/misuse.cpp exactly one error, in the words
that stand beside it. The compiler is $CXX, else c++."""
import collections
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
wrong = root / "tests" / "misuse" / "misuse.cpp"
compiler = os.environ.get("CXX", "c++").split()

version = subprocess.run(compiler + ["--version"], capture_output=True, text=True, check=True).stdout
no_limit = "-ferror-limit=0" if "clang" in version else "-fmax-errors=0"
output = subprocess.run(
    compiler + ["-std=c++20", "-fsyntax-only", "-Werror=unused-result", no_limit, "-Iinclude", wrong.relative_to(root)],
    cwd=root, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr

sentences = collections.Counter()
unused = set()
for number, line in enumerate(wrong.read_text().splitlines(), 1):
    if announced := re.search(r"// error: (.*)$", line):
        sentences[announced[1]] += 1
    if line.endswith("// unused"):
        unused.add(number)

problems = []
checked = sentences.total() + len(unused)
for line, place, said in re.findall(r"^((\S+:\d+:\d+): (?:fatal )?error: (.*))$", output, re.M):
    number = re.search(rf"{wrong.name}:(\d+):", place)
    known = next((s for s in sentences if s in said and sentences[s] > 0), None)
    if number and int(number[1]) in unused and "nodiscard" in said:
        unused.remove(int(number[1]))
    elif known:
        sentences[known] -= 1
    else:
        problems.append(f"not announced: {line}")
problems += [f"{wrong.name}:{number}: a result is dropped without a word" for number in sorted(unused)]
problems += [f"{wrong.name}: {n} programs are not refused with: {s}" for s, n in sentences.items() if n > 0]

for problem in problems:
    print(f"check_misuse: {problem}", file=sys.stderr)
print(f"check_misuse: {checked} wrong programs, {len(problems)} with another answer")
sys.exit(1 if problems else 0)
