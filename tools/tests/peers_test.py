#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/peers.py runs, and what tools/peers_report.py makes of it, without a peer."""
import collections
import contextlib
import io
import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import peers  # noqa: E402
import peers_report as report  # noqa: E402

TITLES = {"thrum": "thrum", "go": "Go"}
MEASURED = {
    "results": {
        "yield_2 1 thrum": [10.0, 12.0, 11.0], "yield_2 1 go": [110.0, 99.0, 120.0],
        "skynet 1 thrum": [900.0, 1000.0, 1100.0], "skynet 1 go": [800.0, 750.0, 790.0],
        "mutex_one 2 thrum": [9.0, 11.0, 10.0], "mutex_one 2 go": [9.5, 9.0, 9.7],
        "tree 1 thrum": [500.0], "tree 1 go": [400.0, "over 20 s"],
        "ping_pong 2 thrum": [50.0, 51.0, "over 20 s"], "ping_pong 2 go": [60.0],
        "fib 2 thrum": ["failed"], "fork_join_fib 2 go": [7.0],
    },
    "versions": {"thrum": "1", "go": "2"}, "rounds": 3, "others": 0.5, "date": "2000-01-02",
    "machine": {"cpu": "Some CPU", "cpus": 2, "kernel": "Linux 1", "compiler": "g++ 12.2.0 -O2"},
}
PROGRAM = """#!/bin/sh
case $1 in
  --rows) echo one; echo two; echo three ;;
  one) echo "one 12.50" ;;
  two) echo lost; exit 3 ;;
  three) exec sleep 10 ;;
  process) test "$3" = 0 ;;
esac
"""


def report_failures():
    behind = report.behind(MEASURED, TITLES)
    expected = ["skynet, 1 processor: Go 790, thrum 1,000 (0.79x)",
                "mutex, uncontended, 2 processors: Go 9.5, thrum 10.0 (0.95x; the ranges overlap)",
                "fib by spawns, 2 processors: thrum failed"]
    if behind != expected:
        yield f"behind: {behind}"
    markdown = report.markdown(MEASURED, TITLES, {"tokio": "cargo"})
    for said in ("| yield among 2 | 11.0 [10.0 to 12.0] | 110 (10.00x) [99.0 to 120] |", "| tree of spawns | 500 | over 20 s |",
                 "| ping-pong | 51.0 [50.0 to over 20 s] | 60.0 (1.18x) |",
                 "| fork_join fib | - | 7.0 |", "it was not installed (cargo)", "Some CPU", "2000-01-02", "Go 2", "not quiet",
                 *(f"- {sentence}" for sentence in expected)):
        if said not in markdown:
            yield f"not in the Markdown: {said}"
    if "not quiet" in report.markdown(MEASURED | {"others": 0.01}, TITLES, {}):
        yield "a quiet machine is called another"
    far = MEASURED | {"machine": MEASURED["machine"] | {"line": 71.6}}
    for where, said in (("page", report.markdown(far, TITLES, {})), ("head", report.text(far, TITLES).splitlines()[0])):
        if "A line of memory takes 72 ns from one core to another." not in said:
            yield f"the {where} does not say what a line between cores costs"
    # The page of another machine stays in the list, and so does a line between its cores.
    other = "# Other CPU, 9 CPUs\n\nMeasured on 1999-01-01: by hand.\nA line of memory takes 100 ns from one core to another.\n"
    written = report.files(far, TITLES, {}, {"other-cpu-9-cpus": other, "some-cpu-2-cpus": "# Some CPU, 2 CPUs\n\nMeasured on 1998-01-01:\n"})
    if set(written) != {"docs/performance.md", *(f"docs/performance/some-cpu-2-cpus{end}" for end in (".md", "-1.svg", "-2.svg"))}:
        yield f"files: {set(written)}"
    for said in ("- [Other CPU, 9 CPUs](performance/other-cpu-9-cpus.md), measured on 1999-01-01. A line of memory takes 100 ns",
                 "- [Some CPU, 2 CPUs](performance/some-cpu-2-cpus.md), measured on 2000-01-02. A line of memory takes 72 ns",
                 "- yield among 2: two goroutines"):
        if said not in written["docs/performance.md"]:
            yield f"not in the list of machines: {said}"
    for procs in (1, 2):
        drawn = xml.etree.ElementTree.fromstring(report.svg(MEASURED, TITLES, procs))
        dots = [circle for circle in drawn.iter("{http://www.w3.org/2000/svg}circle") if circle.get("cy") != "40"]
        if len(dots) != {1: 5, 2: 4}[procs]:
            yield f"{len(dots)} dots for {procs} processors"
    if set(report.COLOURS) != set(peers.PEERS):
        yield "a peer has no colour"
    for ns, said in ((9.96, "10.0"), (123.4, "123"), (12_345, "12.3 us"), (8e6, "8.00 ms"), (1234, "1,234")):
        if report.number(ns) != said:
            yield f"{ns} is written {report.number(ns)}"


def run_failures():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        for row, result in (("one", 12.5), ("two", "failed"), ("three", "over 0.5 s")):
            if (found := peers.run_row(program, row, 1, 0.1, 0.5)) != result:
                yield f"{row}: {found}"
        if not isinstance(peers.run_row(program, "process", 1, 0.1, 20), float):
            yield "process: no time"
        # A peer without a row is not asked; one that was cut off is not asked again.
        calls = []

        def run(_, row, procs, *others):
            calls.append((row, procs))
            return "over 20 s" if row == "two" else 1.0

        results = peers.measure({"thrum": program}, ["one", "two", "four"], 3, 0.1, 1, run)
        if collections.Counter(calls) != {("one", 1): 3, ("one", 2): 3, ("two", 1): 1, ("two", 2): 1}:
            yield f"what was run: {calls}"
        if results != {"one 1 thrum": [1.0] * 3, "one 2 thrum": [1.0] * 3, "two 1 thrum": ["over 20 s"],
                       "two 2 thrum": ["over 20 s"]}:
            yield f"results: {results}"
    orders = [peers.in_turns("abc", number) for number in range(6)]
    if {order[0] for order in orders} != set("abc") or any(sorted(order) != list("abc") for order in orders):
        yield f"in turns: {orders}"
    try:
        peers.macro("no/such/header.hpp", "NAME")
        yield "a header that is not there has a macro"
    except peers.Missing:
        pass


def row_failures():
    """Each program's rows are those of the report, and thrum has all of them."""
    for path in sorted((ROOT / "bench/peers").glob("*/**/*.*")):
        if path.suffix not in (".cpp", ".go", ".rs") or path.name in ("system.go", "waiting.go"):  # main.go lists their rows
            continue
        text = path.read_text()
        if path.suffix == ".rs":
            text = re.search(r"const ROWS.*?\];", text, re.S)[0]
            names = set(re.findall(r'"(\w+)"', text))
        else:
            names = set(re.findall(r'\{"(\w+)", ', text))
        if unknown := names - set(report.ROWS):
            yield f"{path.name} of {path.parent.name}: unknown rows {unknown}"
        if path.parent.name == "thrum" and names != set(report.ROWS):
            yield f"thrum has no row {set(report.ROWS) - names}"
        if not names:
            yield f"{path}: no rows"


def main():
    with contextlib.redirect_stderr(io.StringIO()):
        failed = [*report_failures(), *run_failures(), *row_failures()]
    for failure in failed:
        print(f"peers_test: {failure}")
    if not failed:
        print("peers_test: what is run, what is cut off and what is written is as it must be")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
