#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""How many instructions the hot paths take, and how many of them are locked, beside what was recorded.

  CXX=g++ counts.py             builds bench/counts, counts, compares: fails where a count has grown by
                                more than 3 %
  CXX=g++ counts.py --record    writes what it counts to bench/counts/record.txt

Counted by single steps on one processor, so the numbers do not depend on what else the machine does.
They do depend on the compiler: the record names the one that it was made with, and with any other the
counts are only printed. Needs Linux on x86-64, and a system that lets a program trace its own child.
"""
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench/counts/record.txt"
PROGRAM = ROOT / "build/counts/counts"
MOST = 1.03  # what a count may be of the recorded one
ROUNDING = 0.051, 0.0051  # of what the program prints: of instructions, of locked ones
HEAD = """\
# Instructions and locked instructions of one operation, on one processor: written by `./dev counts
# --record`. CI fails where one grows by more than 3 %; what makes one grow is said in the commit.
"""


def compiler_version(line):
    """What `--version` says first, without the name that the compiler was called by."""
    return line.split("\n")[0].partition(" ")[2]


def parse(text):
    """Of lines `name instructions locked`, a table by name; lines of another kind are no rows."""
    rows = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(\w+)\s+([\d.]+)\s+([\d.]+)", line):
            rows[match[1]] = float(match[2]), float(match[3])
    return rows


def parse_record(text):
    """The compiler and the rows."""
    match = re.search(r"^compiler: (.+)$", text, re.M)
    return match[1] if match else "", parse(text)


def as_record(compiler, rows):
    return (f"{HEAD}compiler: {compiler}\n" +
            "".join(f"{name:28} {row[0]:9.1f} {row[1]:7.2f}\n" for name, row in rows.items()))


def grown(recorded, counted):
    """Sentences: a count that is more than 3 % above the record, a row that only one of the two has."""
    errors = [f"{name} is recorded and was not counted" for name in recorded if name not in counted]
    for name, row in counted.items():
        if name not in recorded:
            errors.append(f"{name} is not recorded: ./dev counts --record")
            continue
        for kind, now, before, rounding in zip(("instructions", "locked instructions"), row, recorded[name], ROUNDING):
            if now > before * MOST + rounding:
                errors.append(f"{name} takes {now:g} {kind}, recorded are {before:g}")
    return errors


def table(recorded, counted):
    lines = [f"{'one operation':28} {'instructions':>12} {'recorded':>9}   {'locked':>7} {'recorded':>9}"]
    for name, row in counted.items():
        before = [f"{value:g}" for value in recorded[name]] if name in recorded else ["-", "-"]
        lines.append(f"{name:28} {row[0]:12.1f} {before[0]:>9}   {row[1]:7.2f} {before[1]:>9}")
    return "\n".join(lines)


def build(compiler):
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", "-Wall", "-Wextra", f"-I{ROOT}/include",
                    ROOT / "bench/counts/counts.cpp", "-pthread", "-o", PROGRAM], check=True)


def output_of(done):
    """What the counting program has said, which must have come to its end."""
    if done.returncode == -signal.SIGALRM:
        sys.exit("counts: a row has taken 300 s: the processor is too busy, or a thread waits for one that was "
                 f"stopped; run {PROGRAM} by hand. Before that it said:\n{done.stdout}")
    if done.returncode != 0:
        sys.exit(f"counts: {PROGRAM} ended with {done.returncode}; run it by hand")
    return done.stdout


def main(arguments):
    if arguments not in ([], ["--record"]):
        sys.exit(__doc__)
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit("counts: only Linux on x86-64 can be counted by single steps as this does it")
    compiler = os.environ.get("CXX", "g++")
    version = compiler_version(
        subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout)
    build(compiler)
    counted = parse(output_of(subprocess.run([PROGRAM], check=False, stdout=subprocess.PIPE, text=True)))
    recorded_with, recorded = parse_record(RECORD.read_text() if RECORD.exists() else "")
    print(table(recorded, counted))
    if arguments:
        RECORD.write_text(as_record(version, counted))
        print(f"counts: recorded, with {version}")
    elif recorded_with != version:
        print(f"counts: not compared, as the record is of {recorded_with} and this is {version}")
    elif errors := grown(recorded, counted):
        for error in errors:
            print(f"counts: {error}")
        return 1
    else:
        print(f"counts: {len(counted)} paths, none more than 3 % above the record, with {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
