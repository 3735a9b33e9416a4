#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""thrum beside what package registries offer, by the same work in the same run: `./dev bench --peers`.

  CXX=g++ peers.py [--quick] [--rounds N] [--rows A,B] [--peers A,B] [--write]
  peers.py --from build/peers/results.json [--write]

Builds the programs of bench/peers with what is there; a peer that is missing is left out, with a line
that says what to install. Each round runs each row on one and on two processors, the peers in turns and
beginning with another one each time, every run a process of its own. Prints a table of medians; --write
makes the page of this kind of machine in docs/performance/, and its drawings, of all rows and peers.
--quick is one round of few rows, in two minutes. A run that takes longer than --limit seconds is cut off,
and that is its result.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

import peers_report
from peers_report import ROWS

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "bench/peers"
BUILT = ROOT / "build/peers"
QUICK_ROWS = ["spawn_one", "yield_2", "ping_pong", "item_buffered", "mutex_one"]
STARTS = 15  # processes of the row `process`, whose median is one result


class Missing(Exception):
    """A peer cannot be built here; the text says what to install."""


def output(*command, **keywords):
    return subprocess.run(command, check=True, capture_output=True, text=True, **keywords).stdout


def compiler():
    return os.environ.get("CXX", "g++")


def macro(header, name):
    """The value of a macro, without quotes; Missing if there is no such header."""
    done = subprocess.run([compiler(), "-std=c++20", "-E", "-dM", "-x", "c++", "-"], capture_output=True, text=True,
                          input=f"#include <{header}>\n")
    found = re.search(rf"^#define {name}\b ?(.*)$", done.stdout, re.M)
    if done.returncode or not found:
        raise Missing(f"no <{header}>")
    return found[1].strip('"')


# Go and Rust link the libraries of their languages into each program. A C++ program spends half of a start of its
# own on the search for them.
LIBRARIES_INSIDE = ["-static-libstdc++", "-static-libgcc"] if sys.platform == "linux" else []


def build_cpp(name, *libraries):
    program = BUILT / name
    subprocess.run([compiler(), "-std=c++20", "-O2", "-DNDEBUG", f"-I{ROOT}/include", SOURCES / name / "rows.cpp",
                    "-pthread", *libraries, "-o", program], check=True)
    return program


def thrum():
    program = build_cpp("thrum", *LIBRARIES_INSIDE)
    revision = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return program, revision.stdout.strip() or "of this tree"


def go():
    if not shutil.which("go"):
        raise Missing("no go on the PATH")
    program = BUILT / "go"
    subprocess.run(["go", "build", "-o", program, *sorted((SOURCES / "go").glob("*.go"))], check=True)
    return program, output("go", "version").split()[2].removeprefix("go")


def boost_fiber():
    version = macro("boost/version.hpp", "BOOST_LIB_VERSION").replace("_", ".")
    macro("boost/fiber/all.hpp", "BOOST_FIBERS_FIBER_H")
    libraries = ["-lboost_fiber", "-lboost_context"]
    try:
        return build_cpp("boost_fiber", *LIBRARIES_INSIDE, "-Wl,-Bstatic", *libraries, "-Wl,-Bdynamic"), version
    except subprocess.CalledProcessError:  # where it is to be had as a shared object only, or not by this linker
        return build_cpp("boost_fiber", *libraries), version


def tokio():
    if not shutil.which("cargo"):
        raise Missing("no cargo on the PATH")
    folder = BUILT / "tokio_build"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SOURCES / "tokio/src/main.rs", folder / "src/main.rs")
    manifest = (SOURCES / "tokio/Cargo.toml").read_text()
    # The second is the newest that the compiler of Debian 12 takes.
    for requirement in ("1", "~1.38"):
        (folder / "Cargo.toml").write_text(manifest.replace('version = "1"', f'version = "{requirement}"'))
        (folder / "Cargo.lock").unlink(missing_ok=True)
        built = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, capture_output=True, text=True)
        if built.returncode == 0:
            break
    else:
        raise Missing("cargo does not build it: " + (built.stderr.strip().splitlines() or ["?"])[-1])
    version = re.search(r'name = "tokio"\nversion = "([^"]+)"', (folder / "Cargo.lock").read_text())[1]
    return folder / "target/release/tokio_rows", f"{version}, {' '.join(output('rustc', '--version').split()[:2])}"


def tbb():
    version = macro("oneapi/tbb/version.h", "TBB_VERSION_MAJOR") + "." + macro("oneapi/tbb/version.h",
                                                                             "TBB_VERSION_MINOR")
    return build_cpp("tbb", "-ltbb"), version


@dataclasses.dataclass
class Peer:
    title: str
    build: object
    install: str  # what has it, by apt's name or another


PEERS = {
    "thrum": Peer("thrum", thrum, "a C++20 compiler"),
    "go": Peer("Go", go, "golang, or Go's own release"),
    "boost_fiber": Peer("Boost.Fiber", boost_fiber, "libboost-fiber-dev"),
    "tokio": Peer("tokio", tokio, "cargo, and a way to crates.io"),
    "tbb": Peer("oneTBB", tbb, "libtbb-dev"),
}


def build_all(names):
    """Programs and versions by peer, of those that can be built."""
    BUILT.mkdir(parents=True, exist_ok=True)
    programs, versions = {}, {}
    for name in names:
        try:
            programs[name], versions[name] = PEERS[name].build()
        except (Missing, subprocess.CalledProcessError) as error:
            if name == "thrum":
                raise
            print(f"skip  {PEERS[name].title}: {error}; install {PEERS[name].install}", file=sys.stderr)
    return programs, versions


# ---- running ---------------------------------------------------------------------------------------


def process_time(program, procs, limit):
    """ns from the start of a process that does nothing to its end: the median of some."""
    times = []
    for _ in range(STARTS):
        begin = time.perf_counter()
        child = os.posix_spawn(program, [str(program), "process", str(procs), "0"], os.environ,
                               file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status = os.waitpid(child, 0)
        times.append(time.perf_counter() - begin)
        if status != 0:
            return "failed"
        if sum(times) > limit:
            return f"over {limit:g} s"
    return statistics.median(times) * 1e9


def run_row(program, row, procs, seconds, limit):
    """ns an operation, or words where there is no number."""
    if row == "process":
        return process_time(program, procs, limit)
    try:
        done = subprocess.run([program, row, str(procs), str(seconds)], capture_output=True, text=True,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s"
    match = re.fullmatch(rf"{row} ([\d.]+)", done.stdout.strip())
    if done.returncode != 0 or not match:
        print(f"{program.name} {row}: {done.stderr.strip() or done.stdout.strip()}", file=sys.stderr)
        return "failed"
    return float(match[1])


def in_turns(names, number):
    """The order of turn `number`: nobody is always the first, or always after the same other."""
    names = list(names)
    at = number // 2 % len(names)
    turned = names[at:] + names[:at]
    return turned if number % 2 == 0 else turned[::-1]


def measure(programs, rows, rounds, seconds, limit, run=run_row):
    """Lists of results by "row procs peer". What was cut off once, or has failed, is not tried again."""
    results, turn = {}, 0
    has = {peer: set(output(program, "--rows").split()) for peer, program in programs.items()}
    for number in range(rounds):
        for procs in (1, 2):
            for row in rows:
                for peer in in_turns(programs, turn):
                    so_far = results.setdefault(f"{row} {procs} {peer}", [])
                    if row in has[peer] and not any(isinstance(result, str) for result in so_far):
                        so_far.append(run(programs[peer], row, procs, seconds, limit))
                turn += 1
        print(f"round {number + 1} of {rounds} has ended", file=sys.stderr)
    return {key: each for key, each in results.items() if each}


def machine_seconds():
    """Seconds that all CPUs together were not idle."""
    stat = pathlib.Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, *_ = map(int, stat.read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def our_seconds():
    both = [resource.getrusage(kind) for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def line_between_cores():
    """ns that a line takes from one core to another, the median of five; None where two threads share a CPU."""
    if (os.cpu_count() or 1) < 2:
        return None
    program = BUILT / "line"
    subprocess.run([compiler(), "-std=c++20", "-O2", SOURCES / "line.cpp", "-pthread", "-o", program], check=True)
    try:
        return statistics.median(float(output(program, timeout=20)) for _ in range(5))
    except subprocess.TimeoutExpired:
        return None


def machine():
    cpu = "?"
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        if found := re.search(r"^model name\s*: (.+)$", info.read_text(), re.M):
            cpu = found[1]
    return {"cpu": cpu, "cpus": os.cpu_count(), "kernel": f"{platform.system()} {re.match(r'[0-9.]*[0-9]', platform.release())[0]}",
            "compiler": " ".join([compiler(), output(compiler(), "-dumpfullversion").strip(), "-O2", *LIBRARIES_INSIDE])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = lambda text: text.split(",")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=names, default=list(ROWS))
    parser.add_argument("--peers", type=names, default=list(PEERS))
    parser.add_argument("--seconds", type=float, default=0.2, help="shortest time of a run; default: 0.2")
    parser.add_argument("--limit", type=float, default=20, help="seconds; default: 20")
    parser.add_argument("--write", action="store_true", help="the machine's page in docs/performance/")
    parser.add_argument("--from", dest="saved", type=pathlib.Path, help="print or write what was measured")
    options = parser.parse_args()
    for given, known, kind in ((options.rows, ROWS, "row"), (options.peers, PEERS, "peer")):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"there is no {kind} {unknown[0]}, but {', '.join(known)}")

    if options.saved:
        measured = json.loads(options.saved.read_text())
    else:
        if options.quick:
            options.rounds, options.seconds, options.rows = 1, 0.1, QUICK_ROWS
        programs, versions = build_all(dict.fromkeys(["thrum", *options.peers]))
        line = line_between_cores()
        busy, ours, begin = machine_seconds(), our_seconds(), time.monotonic()
        results = measure(programs, options.rows, options.rounds, options.seconds, options.limit)
        others = (machine_seconds() - busy - (our_seconds() - ours)) / (time.monotonic() - begin)
        measured = {"results": results, "versions": versions, "machine": {**machine(), "line": line}, "rounds": options.rounds,
                    "others": max(0.0, others), "date": datetime.date.today().isoformat()}
        (BUILT / "results.json").write_text(json.dumps(measured, indent=1))
    titles = {name: PEERS[name].title for name in measured["versions"]}
    print(peers_report.text(measured, titles))
    if options.write:
        missing = {peer.title: peer.install for name, peer in PEERS.items() if name not in titles}
        pages = {page.stem: page.read_text() for page in (ROOT / "docs/performance").glob("*.md")}
        for path, content in peers_report.files(measured, titles, missing, pages).items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(content)
            print(f"peers: wrote {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
