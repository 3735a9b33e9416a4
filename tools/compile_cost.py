#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What an include costs: CPU time of the compiler (syntax only) and lines after the preprocessor, beside
the standard headers that the interface needs anyway. Medians; taken in turns, as machines are noisy.

  CXX=g++ compile_cost.py [ROUNDS]
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20", f"-I{INCLUDE}"]
NINE = ["functional", "chrono", "memory", "string", "optional", "mutex", "stop_token", "variant", "span"]
SEPARATE = "-DTHRUM_SEPARATE=1"
# Name, includes, options, what it is compared with.
CASES = [
    ("nine standard headers", NINE, [], None),
    ("thrum.hpp", ["thrum.hpp"], [], 0),
    ("thrum.hpp, separate", ["thrum.hpp"], [SEPARATE], 0),
    ("<chrono> and <mutex>", ["chrono", "mutex"], [], None),
    ("thrum/sync/mutex.hpp", ["thrum/sync/mutex.hpp"], [], 3),
    ("thrum/sync/mutex.hpp, separate", ["thrum/sync/mutex.hpp"], [SEPARATE], 3),
]


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    times = [[] for _ in CASES]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for i, (_, headers, options, _) in enumerate(CASES):
            sources.append(pathlib.Path(folder) / f"{i}.cpp")
            sources[i].write_text("".join(f"#include <{header}>\n" for header in headers))
            text = subprocess.run([*COMPILER, *options, "-E", sources[i]], check=True, capture_output=True)
            lines.append(text.stdout.count(b"\n"))
        for _ in range(rounds):
            for i, (_, _, options, _) in enumerate(CASES):
                times[i].append(cpu_seconds([*COMPILER, *options, "-fsyntax-only", sources[i]]))
    print(f"{'include':32} {'lines':>8} {'CPU s':>7} {'ratio':>6}")
    medians = [statistics.median(each) for each in times]
    for i, (name, _, _, peer) in enumerate(CASES):
        ratio = "" if peer is None else f"{medians[i] / medians[peer]:.2f}"
        print(f"{name:32} {lines[i]:8} {medians[i]:7.2f} {ratio:>6}")


main()
