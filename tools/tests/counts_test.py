#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/counts.py must call grown, and what not."""
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import counts  # noqa: E402

RECORDED = {"yield": (200.0, 1.0), "mutex": (10.0, 2.0), "plain": (50.0, 0.0)}
# What is counted instead of a row, and what is said of it.
CASES = {
    "the same": ({}, []),
    "less": ({"yield": (100.0, 0.0)}, []),
    "3 % more": ({"yield": (206.0, 1.03)}, []),
    "4 % more instructions": ({"yield": (208.0, 1.0)}, ["yield takes 208 instructions, recorded are 200"]),
    "one locked instruction more": ({"mutex": (10.0, 3.0)}, ["mutex takes 3 locked instructions, recorded are 2"]),
    "locked where none was": ({"plain": (50.0, 0.02)}, ["plain takes 0.02 locked instructions, recorded are 0"]),
    "both": ({"yield": (300.0, 9.0)}, ["yield takes 300 instructions, recorded are 200",
                                       "yield takes 9 locked instructions, recorded are 1"]),
    "a row that is not recorded": ({"new": (1.0, 1.0)}, ["new is not recorded: ./dev counts --record"]),
    "a row that was not counted": ({"mutex": None}, ["mutex is recorded and was not counted"]),
}


def failures():
    for name, (change, said) in CASES.items():
        counted = {key: row for key, row in (RECORDED | change).items() if row is not None}
        errors = counts.grown(RECORDED, counted)
        if errors != said:
            yield f"{name}: {said} expected, found {errors}"
    written = counts.as_record("(Some 1.2) 12.2.0", RECORDED)
    if counts.parse_record(written) != ("(Some 1.2) 12.2.0", RECORDED):
        yield f"what is written reads as {counts.parse_record(written)}"
    if counts.parse_record("") != ("", {}):
        yield "an empty record has a compiler or rows"
    for called in ("g++", "c++"):
        if counts.compiler_version(f"{called} (Some 1.2) 12.2.0\nCopyright\n") != "(Some 1.2) 12.2.0":
            yield f"{called}: another version than by another name"
    for status, said in ((-signal.SIGALRM, "too busy"), (1, "ended with 1")):
        try:
            counts.output_of(subprocess.CompletedProcess([], status, "yield 1 1"))
            yield f"a program that ended with {status} is believed"
        except SystemExit as end:
            if said not in str(end):
                yield f"a program that ended with {status}: {said!r} expected, said {end}"
    if counts.output_of(subprocess.CompletedProcess([], 0, "yield 1 1")) != "yield 1 1":
        yield "what a program said that came to its end is not what it said"
    recorded_with, recorded = counts.parse_record(counts.RECORD.read_text())
    if not recorded_with or not recorded:
        yield "the record of the tree has no compiler or no rows"


def main():
    failed = list(failures())
    for failure in failed:
        print(f"counts_test: {failure}")
    if not failed:
        print(f"counts_test: {len(CASES)} counts, each judged as it must be")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
