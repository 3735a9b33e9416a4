#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""simulate.py [--procs N,...] [--only NAME,...] [COST=NANOSECONDS...]: the scheduler on simulated machines.

Builds tests/simulation with the library's constants, and once for each other value that is tried of one,
runs all of them with so many processors (16, 64, 256), and prints a table for each workload. COST=VALUE
are those of tests/simulation/machine.hpp; thrum_simulation measure prints this machine's. Two runs with the
same arguments print the same.

How far apart cores are: a line takes `transfer` ns from one core to another (80), `sibling` (30) between
threads of one core, `far` (200) between packages. Give siblings=2 for two threads on a core, and package=16
for as many in a package; without them all cores are `transfer` apart. Thus two cores that are far apart, and
64 in four packages:

    ./dev simulate --procs 2 transfer=200
    ./dev simulate --procs 64 siblings=2 package=16 transfer=100
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "simulation"

# Name, and what is defined for it. Go's policy is the library's with one searcher at a time.
VARIANTS = {
    "as it is": [],
    "one searcher": ["SIMULATED_SEARCHERS=1"],
    "1 + busy/16": ["SIMULATED_SEARCHERS=1+busy/16"],
    "4 from 8 busy": ["SIMULATED_SEARCHERS=(busy<8?1:4)"],
    "1 round": ["SIMULATED_STEAL_ROUNDS=1"],
    "8 rounds": ["SIMULATED_STEAL_ROUNDS=8"],
    "spin 1 of 8": ["SIMULATED_BUSY_PER_SPINNER=8"],
    "ring of 64": ["SIMULATED_RUN_QUEUE_CAPACITY=64"],
    "ring of 1024": ["SIMULATED_RUN_QUEUE_CAPACITY=1024"],
    "global 1 in 17": ["SIMULATED_GLOBAL_CHECK_INTERVAL=17"],
    "global 1 in 251": ["SIMULATED_GLOBAL_CHECK_INTERVAL=251"],
    "credit 1": ["SIMULATED_WAKE_CREDIT=1"],
    "credit 256": ["SIMULATED_WAKE_CREDIT=256"],
    "no pause": ["SIMULATED_PAUSE_BEFORE_RUNNEXT=0"],
    "move any": ["SIMULATED_WORTH_A_MOVE=0"],
    "move from 50 us": ["SIMULATED_WORTH_A_MOVE=50'000"],
}

LINE = re.compile(
    r"(.{16}) used +(\S+) awake +(\S+) latency +(\S+) late +(\S+) wakes +(\S+) steals +(\S+) each +(\S+)$")


def build(name: str) -> pathlib.Path:
    program = OUT / re.sub(r"\W+", "_", name)
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", f"-I{ROOT}/include", f"-I{ROOT}/tests",
               *[f"-D{each}" for each in VARIANTS[name]],
               str(ROOT / "tests/simulation/simulation.cpp"), "-o", str(program), "-pthread", "-ldl"]
    subprocess.run(command, check=True)
    return program


def rows(program: pathlib.Path, procs: int, costs: list[str]) -> dict[str, tuple[str, ...]]:
    run = subprocess.run([str(program), str(procs), *costs], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"simulate: {program.name} has failed with {procs} processors; what it said stands above")
    return parse(run.stdout)


def parse(text: str) -> dict[str, tuple[str, ...]]:
    found = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None:
            sys.exit(f"simulate: not a line of a workload: {line}")
        found[match[1].strip()] = match.groups()[1:]
    return found


def understand(words: list[str]) -> tuple[list[int], list[str], list[str]]:
    """Numbers of processors, names of variants, costs."""
    procs = [16, 64, 256]
    names = list(VARIANTS)
    costs = []
    arguments = iter(words)
    for each in arguments:
        if each == "--procs":
            numbers = next(arguments, "").split(",")
            if not all(n.isdecimal() for n in numbers):
                sys.exit("simulate: --procs wants numbers with commas between them")
            procs = [int(n) for n in numbers]
        elif each == "--only":
            names = next(arguments, "").split(",")
        elif "=" in each:
            costs.append(each)
        else:
            sys.exit(f"simulate: unknown argument {each}; --help tells what there is")
    unknown = [each for each in names if each not in VARIANTS]
    if unknown:
        sys.exit(f"simulate: no variant is called {unknown[0]}; there are {', '.join(VARIANTS)}")
    return procs, names, costs


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    procs, names, costs = understand(sys.argv[1:])
    OUT.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = dict(zip(names, pool.map(build, names)))
    for n in procs:
        found = {name: rows(program, n, costs) for name, program in programs.items()}
        for workload in found[names[0]]:
            print(f"\n{n} processors, {workload}\n")
            print("| constants | used | awake | latency, us | 1 in 100, us | threads woken | stolen | each, ns |")
            print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
            for name in names:
                print(f"| {name} | {' | '.join(found[name][workload])} |")


if __name__ == "__main__":
    main()
