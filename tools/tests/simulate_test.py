#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/simulate.py must understand, and what it must refuse."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import simulate  # noqa: E402

# Arguments, and the beginning of what is said of them.
REFUSED = {
    "--fast": "simulate: unknown argument --fast",
    "--procs many": "simulate: --procs wants numbers",
    "--procs": "simulate: --procs wants numbers",
    "--only none": "simulate: no variant is called none",
}
LINE = ("tree of 10 us    used 0.823 awake   1.07 latency     4.24 late   1397.15 wakes    0.20 steals    0.05"
        " each   5232.8\n")


def refusal(call) -> str:
    try:
        call()
    except SystemExit as error:
        return str(error)
    return ""


def failures():
    for words, said in REFUSED.items():
        found = refusal(lambda: simulate.understand(words.split()))
        if not found.startswith(said):
            yield f"{words}: {said} expected, found {found}"
    found = simulate.understand(["--procs", "4,8", "wake=9", "--only", "no pause,credit 1"])
    if found != ([4, 8], ["no pause", "credit 1"], ["wake=9"]):
        yield f"understood is {found}"
    if simulate.parse(LINE) != {"tree of 10 us": ("0.823", "1.07", "4.24", "1397.15", "0.20", "0.05", "5232.8")}:
        yield "a line of a workload is read as something else"
    if not refusal(lambda: simulate.parse("tree: much\n")).startswith("simulate: not a line"):
        yield "a line that is none is taken for one"


def main():
    found = list(failures())
    for each in found:
        print(f"simulate_test: {each}")
    if not found:
        print("simulate_test: what is asked and what is read is as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
