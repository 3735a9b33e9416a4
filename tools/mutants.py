#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Breaks the library on purpose, one small thing at a time, and asks whether a test fails.

    ./dev mutants                 a sample of 60 mutations of sched/, chan/, select/ and sync/
    ./dev mutants --sample 10 --seed 7 --under sync/
    ./dev mutants --near          without the tests of other rooms, which take most of the time: what
                                  survives may yet be found by ./dev mutants NAME
    ./dev mutants --list          all mutations there are, with their names
    ./dev mutants NAME...         these, whatever has been found of them before
    ./dev mutants --forget        begins anew instead of going on with what is known

A mutation negates a condition, drops a statement that is a call, moves the edge of a comparison by
one, or turns + 1, ++ and fetch_add round. Memory orders and fences are left alone: the models try
those, and check_orders.py misses a fence that is not there.
It is made in a copy of include/ below build/mutants, never in the tree. The tests that are nearest
to the file are built and run first, then those of its room, then those that use it: the first that
fails, crashes or hangs has found it. A mutation that does not compile does not count, and another
one takes its place.

What is known is kept in build/mutants/known.json after every mutation: a run that was interrupted
goes on where it was. A result is good for as long as its header, and of a survivor its tests, stay
as they are. The sample of a seed, too, stays the same but for mutations of lines that change.
tools/mutants_known.txt holds those that change nothing that a test could see, each with the reason;
they do not count either.

Exit code 1: fewer than 90 % of those that count were found.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import house

root = pathlib.Path(__file__).resolve().parent.parent
headers = root / "include" / "thrum"
build = root / "build" / "mutants"
copy = build / "include"
known_file = build / "known.json"

ROOMS = ("sched", "chan", "select", "sync")
ENOUGH = 0.9
BATCH = 8  # test files in one compilation, as in tests/CMakeLists.txt
PROCESSORS = ("4", "1")
LEAST_LIMIT = 20  # seconds for the tests of a batch; or eight times what they need unbroken
MOST_MEMORY = 3 << 30  # a mutant that allocates for ever
COMPILER = os.environ.get("CXX", "c++")
FLAGS = ["-std=c++20", "-O1", "-g0", "-w", "-Wno-psabi", "-DTHRUM_CHECKS=1"]
# Test files that need more than themselves and tests/programs.
NEEDS_MORE = re.compile(r"THRUM_(?:SHARED|GDB|TRACE_PC|MUTEX_WATCH|MEMORY|PAGE_SIZE)_\w+")
NEEDS_PROGRAMS = re.compile(r"\brun_program\b|THRUM_PROGRAMS_PATH")


# ---- what can be broken --------------------------------------------------------------------------

class Mutation:
    def __init__(self, path, text, kind, start, end, new):
        self.path, self.kind, self.start, self.end, self.new = path, kind, start, end, new
        self.line = text.count("\n", 0, start) + 1
        self.name = ""  # file:line:kind, numbered if the line has several
        self.twin = 0  # how many of the same words stand above it in the file
        first = text.rfind("\n", 0, start) + 1 if kind in ("edge", "step") else start
        last = text.find("\n", end) if kind in ("edge", "step") else end
        self.old_words = one_line(text[first:last])
        self.new_words = one_line(text[first:start] + new + text[end:last]) or "(nothing)"

    def words(self):
        return f"{self.old_words}  ->  {self.new_words}"

    def lot(self, seed):
        """Its place in the order of a seed, whatever becomes of other lines."""
        what = f"{seed} {self.path.relative_to(headers)} {self.kind} {self.twin} {self.words()}"
        return hashlib.sha256(what.encode()).digest()


def one_line(text):
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


def masked(text):
    """The text with comments, literals and preprocessor lines blanked, each place where it was."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group())
    literal = r'"(?:\\.|[^"\\\n])*"' + r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'"
    text = re.sub(rf"//[^\n]*|/\*.*?\*/|{literal}", blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def closing(text, opening):
    """Where the parenthesis at `opening` is closed."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return -1


CONDITION = re.compile(r"\b(?:if|while)\s*\(")
DECLARES = re.compile(r"^\s*(?:const\b|auto\b"
                      r"|[\w:]+(?:<[^=;]*>)?\s*[*&]*\s*(?:const\s+)?\w+\s*=(?!=))")
NO_CALL = re.compile(r"^(?:return|if|for|while|do|switch|case|default|using|static_assert|delete"
                     r"|throw|friend|typedef|template|typename|else|operator|explicit|constexpr"
                     r"|auto|const|public|private|requires|goto|new|THRUM_ASSERT)\b")
PASSES_TIME = re.compile(
    r"(?:\w+::)*(?:sleep_ns|yield_thread|spin_hint|back_off|pause_search)\(")
ORDERS = re.compile(r"(?:\w+::)*(?:light_|heavy_)?fence\(")
CALL = re.compile(r"^(?:::)?[a-z]\w*(?:(?:::|\.|->)\w+|<[^;=]*?>|\[[^\];]*\]|\(\))*\(")


def negations(text, code):
    for found in CONDITION.finditer(code):
        opening = found.end() - 1
        end = closing(code, opening)
        start = opening + 1 + code[opening + 1:end].rfind(";") + 1  # behind an init-statement
        inside = code[start:end]
        if end > 0 and inside.strip() not in ("true", "false") and not DECLARES.match(inside):
            yield "negate", start, end, f"!({text[start:end].strip()})"


def drops(text, code):
    """Statements that are nothing but a call, unless all it does is to let time pass."""
    for found in re.finditer(r"(?<=[;{}])\s*", code):
        start = found.end()
        end = code.find(";", start)
        statement = code[start:end]
        if (end > 0 and statement.endswith(")") and CALL.match(statement)
                and not NO_CALL.match(statement) and not PASSES_TIME.match(statement)
                and not ORDERS.match(statement)
                and "=" not in statement.split("(")[0]
                and closing(statement, statement.find("(")) > 0
                and statement.count("(") == statement.count(")") and "{" not in statement):
            yield "drop", start, end + 1, ""


TURNED = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > "}


def edges(text, code):
    for found in re.finditer(r" (?:<=?|>=?) ", code):
        if not is_choice(code[:found.start()], code[found.end():]):
            yield "edge", found.start(), found.end(), TURNED[found.group()]


def is_choice(before, behind):
    """Of a < b ? a : b, where it does not matter what happens at the edge."""
    left = re.search(r"[\w.]*$", before).group()
    parts = re.match(r"(.+?) \? (.+?) : (.+)", behind)
    if left == "" or parts is None:
        return False
    right, first, second = parts.groups()
    return ((first == right and second.startswith(left))
            or (first == left and second.startswith(right)))


STEPS = {"++": "--", "--": "++", " + 1": " - 1", " - 1": " + 1", "fetch_add": "fetch_sub",
         "fetch_sub": "fetch_add"}


def steps(text, code):
    for found in re.finditer(r"\+\+|--| [+-] 1\b(?![.'])|fetch_(?:add|sub)\b", code):
        line = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        if not re.search(r"\bfor\s*\(", line):  # a loop the wrong way round is found by anything
            yield "step", found.start(), found.end(), STEPS[found.group()]


def mutations():
    """All there are, in the order of files and lines."""
    paths = []
    for room in ROOMS:
        paths += house.headers_of(room)
    every = []
    for path in paths:
        text = path.read_text()
        code = masked(text)
        here = []
        for operator in (negations, drops, edges, steps):
            for kind, start, end, new in operator(text, code):
                here.append(Mutation(path, text, kind, start, end, new))
        here.sort(key=lambda m: (m.start, m.kind))
        seen, twins = {}, {}
        for m in here:
            m.twin = twins[m.words()] = twins.get(m.words(), -1) + 1
            place = f"{house.short_name(path.relative_to(headers).as_posix())}:{m.line}:{m.kind}"
            seen[place] = seen.get(place, 0) + 1
            m.name = place if seen[place] == 1 else f"{place}:{seen[place]}"
        every += here
    return every


def explained():
    """(file, words of the mutation) -> why no test can see it."""
    path = root / "tools" / "mutants_known.txt"
    reasons = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            place, words, reason = (part.strip() for part in line.split("|||"))
            reasons[place, words] = reason
    return reasons


# ---- which tests ---------------------------------------------------------------------------------

def test_files(*patterns):
    found = []
    for pattern in patterns:
        found += sorted((root / "tests").glob(pattern))
    return found


USERS = {
    "sched": ("unit/sched/**/*_test.cpp", "unit/go_test.cpp", "unit/join_handle_test.cpp",
              "unit/chan_test.cpp", "unit/select/*_test.cpp", "unit/sync/*_test.cpp",
              "unit/preemption_test.cpp", "unit/migration_test.cpp", "unit/exceptions_test.cpp",
              "unit/blocking_test.cpp", "unit/runtime_test.cpp", "unit/thread_lock_test.cpp",
              "unit/io/**/*_test.cpp", "unit/time/*_test.cpp", "unit/testing/*_test.cpp",
              "unit/debug/dump_test.cpp", "go/**/*_test.cpp"),
    "chan": ("unit/chan*/*_test.cpp", "unit/select/*_test.cpp", "unit/select_test.cpp",
             "unit/time/*_test.cpp", "go/chan*_test.cpp", "go/time_test.cpp"),
    "select": ("unit/select/*_test.cpp", "unit/context*_test.cpp", "unit/time/*_test.cpp",
               "go/chan_select*_test.cpp", "go/select_test.cpp", "go/time_test.cpp"),
    "sync": ("unit/sync/*_test.cpp", "unit/start/deadline_test.cpp", "go/sync*_test.cpp"),
}


def stages(path):
    """Test files, nearest first: the file's own, its room's, its users'."""
    place = pathlib.PurePath(house.short_name(path.relative_to(headers).as_posix()))
    room = place.with_suffix("").parts[0]
    folder = place.parent.as_posix()
    own = test_files(f"unit/{place.with_suffix('').as_posix()}_test.cpp",
                     f"model/**/{place.stem}*_model.cpp")
    included = re.compile(rf"^#include <thrum/{re.escape(path.relative_to(headers).as_posix())}>", re.M)
    own += [f for f in test_files("unit/**/*_test.cpp", "model/**/*_model.cpp")
            if included.search(f.read_text())]
    near = test_files(f"unit/{room}_test.cpp", f"unit/{folder}/*_test.cpp") if folder != "." else \
        test_files(f"unit/{room}_test.cpp", f"unit/{room}/*_test.cpp")
    done, result = set(), []
    for stage in (own, near, test_files(*USERS[room])):
        files = [f for f in dict.fromkeys(stage) if f not in done
                 and not NEEDS_MORE.search(f.read_text())]
        done.update(files)
        result.append(files)
    return result


def batches(files):
    """Those that start programs by themselves, as the programs take long to build."""
    alone = [f for f in files
             if NEEDS_PROGRAMS.search(f.read_text()) or f.name.endswith("_model.cpp")]
    together = [f for f in files if f not in alone]
    for i in range(0, len(together), BATCH):
        yield together[i:i + BATCH]
    for f in alone:
        yield [f]


# ---- building and running ------------------------------------------------------------------------

running = None  # the process that an interruption has to take along


def run(command, limit, env=None):
    """(exit code, the end of what it wrote); None for one that took too long or too much."""
    global running
    with open(build / "output.txt", "w+b") as output:
        running = subprocess.Popen(
            command, cwd=root, env={**os.environ, **(env or {})}, stdout=output,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        end = time.monotonic() + limit
        try:
            while running.poll() is None:
                if time.monotonic() > end or memory_of(running.pid) > MOST_MEMORY:
                    break
                try:
                    running.wait(0.5)
                except subprocess.TimeoutExpired:
                    pass
            code = running.poll()
        finally:
            try:
                os.killpg(running.pid, signal.SIGKILL)  # and what it has started
            except ProcessLookupError:
                pass
            running.wait()
            running = None
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - 20_000))
        return code, output.read().decode(errors="replace")


def memory_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/statm").read_text()
        return int(text.split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def compile_(sources, output, include, more=(), link=True):
    command = [COMPILER, *FLAGS, *more, f"-I{include}", f"-I{root / 'tests'}"]
    command += [str(s) for s in sources] + ["-o", str(output)]
    command += ["-pthread", "-ldl"] if link else ["-c"]
    return run(command, 900)


def write_unity(name, files):
    source = build / f"{name}.cpp"
    source.write_text("".join(f'#include "{f}"\n' for f in files))
    return source


def prepare():
    """What no mutation touches, compiled once: the main program of the tests, and a precompiled
    header of Catch2 and the standard library."""
    build.mkdir(parents=True, exist_ok=True)
    mark = digest([root / "tests/support/catch.hpp", root / "tests/support/main.cpp"])
    stamp, pch, main = build / "prepared.txt", build / "before.hpp", build / "main.o"
    mark += COMPILER + run([COMPILER, "--version"], 60)[1]
    if not (stamp.exists() and stamp.read_text() == mark and main.exists()):
        say("precompiling Catch2 and the standard library")
        code, text = compile_([root / "tests/support/main.cpp"], main, headers.parent, link=False)
        if code != 0:
            sys.exit(f"mutants: {root / 'tests/support/main.cpp'} does not compile:\n{text}")
        names = ("algorithm array atomic chrono condition_variable cstdint cstdio cstring functional"
                 " future map memory mutex optional random span stop_token string string_view thread"
                 " type_traits utility variant vector").split()
        pch.write_text('#include "support/catch.hpp"\n'
                       + "".join(f"#include <{name}>\n" for name in names))
        code, text = run([COMPILER, *FLAGS, "-pthread", "-x", "c++-header", f"-I{root / 'tests'}",
                          str(pch), "-o", str(pch) + ".gch"], 900)
        if code != 0:
            sys.exit(f"mutants: cannot precompile Catch2:\n{text}")
        stamp.write_text(mark)


def digest(paths):
    sums = hashlib.sha256()
    for path in paths:
        sums.update(str(path).encode() + b"\0" + path.read_bytes())
    return sums.hexdigest()[:16]


class Unbroken:
    """Batches as they are without a mutation: only one that passes says anything, and its time
    gives the limit for the others."""

    def __init__(self):
        self.sources = digest(sorted(headers.rglob("*.hpp"))
                              + sorted((root / "tests").rglob("*.[hc]pp")))
        self.file = build / "unbroken.json"
        self.times = {}
        if self.file.exists():
            known = json.loads(self.file.read_text())
            self.times = known["times"] if known["sources"] == self.sources else {}

    def passing(self, files):
        """(files, seconds) of the parts of a batch that pass as they are, the whole if that does."""
        seconds = self.seconds(files)
        if seconds is not None:
            yield files, seconds
        elif len(files) > 1:
            half = len(files) // 2
            yield from self.passing(files[:half])
            yield from self.passing(files[half:])

    def seconds(self, files):
        """What the tests take; None: they do not pass as they are."""
        key = " ".join(f.relative_to(root).as_posix() for f in files)
        if key not in self.times:
            state, text = try_batch(files, headers.parent, 300)
            if state not in ("passed", "does not compile"):  # not every failure comes back
                state, text = try_batch(files, headers.parent, 300)
            if state != "passed" and len(files) == 1:
                said = re.search(r"^.*error.*$", text, re.M)
                say(f"left out: {key} {state} without any mutation"
                    + (f": {said.group()}" if said else ""))
            self.times[key] = run_seconds if state == "passed" else None
            write(self.file, {"sources": self.sources, "times": self.times})
        return self.times[key]


run_seconds = 0.0  # what the last batch that passed took to run


def try_batch(files, include, limit):
    """passed, does not compile, or how it failed; and what was said."""
    global run_seconds
    more = ["-include", str(build / "before.hpp")]
    if any(NEEDS_PROGRAMS.search(f.read_text()) for f in files):
        programs = build / "thrum_programs"  # its threads are called so
        source = write_unity("programs_unity", sorted((root / "tests/programs").glob("*.cpp")))
        code, text = compile_([source], programs, include, ["-g2"])
        if code != 0:
            return "does not compile", text
        more.append(f'-DTHRUM_PROGRAMS_PATH="{programs}"')
    sources = [write_unity("unity", files), build / "main.o"]
    code, text = compile_(sources, build / "tests", include, more)
    if code != 0:
        return "does not compile", text
    start = time.monotonic()
    for processors in PROCESSORS if not files[0].name.endswith("_model.cpp") else PROCESSORS[:1]:
        code, text = run([str(build / "tests"), "--abort"], limit, {"THRUM_MAXPROCS": processors})
        if code != 0:
            return how_it_failed(code, text), text
    run_seconds = time.monotonic() - start
    return "passed", ""


def how_it_failed(code, text):
    if code is None:
        return "hangs"
    test = re.search(r"^-{79}\n(.*?)\n(?:-{79}|\.{79})", text, re.M | re.S)
    name = f" in \"{one_line(test.group(1))}\"" if test else ""
    return (f"killed by signal {-code}" if code < 0 else "fails") + name


def judge(mutation, unbroken, near):
    """A result to keep: found, survived, or does not compile."""
    text = mutation.path.read_text()
    file = copy / mutation.path.relative_to(headers.parent)
    tried = []
    file.write_text(text[:mutation.start] + mutation.new + text[mutation.end:])
    try:
        for stage in stages(mutation.path)[:2 if near else None]:
            parts = (part for batch in batches(stage) for part in unbroken.passing(batch))
            for files, needs in parts:
                state, _ = try_batch(files, copy, max(LEAST_LIMIT, 8 * needs))
                if state == "does not compile":
                    return {"result": "does not compile"}
                tried += [f.relative_to(root).as_posix() for f in files]
                if state != "passed":
                    return {"result": "found", "by": state}
    finally:
        file.write_text(text)
    return {"result": "survived", "tests": tried, "near": near}


# ---- the run -------------------------------------------------------------------------------------

def say(text):
    print(text, flush=True)


def write(path, value):
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(value, indent=1))
    fresh.replace(path)


def is_good(result, mutation, near):
    """Whether what is known of a mutation still holds."""
    if result is None or result["header"] != digest([mutation.path]):
        return False
    if result.get("near", False) and not near:
        return False
    files = [root / name for name in result.get("tests", ())]
    return (all(f.exists() for f in files)
            and result.get("sums") == (digest(files) if files else None))


def result_of(mutation, known, unbroken, near, again):
    result = known.get(mutation.name)
    if again or not is_good(result, mutation, near):
        start = time.monotonic()
        result = judge(mutation, unbroken, near)
        result["seconds"] = round(time.monotonic() - start)
        result["header"] = digest([mutation.path])
        if "tests" in result:
            result["sums"] = digest([root / name for name in result["tests"]])
        known[mutation.name] = result
        write(known_file, known)
    return result


def main():
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="try these mutations")
    parser.add_argument("--sample", type=int, default=60, metavar="N", help="how many (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which ones (1)")
    parser.add_argument("--under", default="", metavar="PLACE",
                        help="only those of sync/, or of select/engine.hpp")
    parser.add_argument("--near", action="store_true", help="only the tests of its room")
    parser.add_argument("--list", action="store_true", help="only show what there is")
    parser.add_argument("--forget", action="store_true", help="forget earlier results")
    args = parser.parse_args()

    every = [m for m in mutations() if m.name.startswith(args.under)]
    if args.list:
        for m in every:
            print(f"{m.name}  {m.words()}")
        return 0
    chosen = every
    if args.names:
        by_name = {m.name: m for m in every}
        unknown = [n for n in args.names if n not in by_name]
        if unknown:
            sys.exit(f"mutants: there is no {unknown[0]}; ./dev mutants --list shows all names")
        chosen = [by_name[n] for n in args.names]
    else:
        chosen = sorted(every, key=lambda m: m.lot(args.seed))

    os.nice(5)
    prepare()
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(headers.parent, copy)
    if args.forget:
        known_file.unlink(missing_ok=True)
    known = json.loads(known_file.read_text()) if known_file.exists() else {}
    unbroken = Unbroken()
    reasons = explained()
    counts = {"found": 0, "survived": 0}
    survivors = []
    for m in chosen:
        if sum(counts.values()) == args.sample and not args.names:
            break
        reason = reasons.get((house.short_name(m.path.relative_to(headers).as_posix()), m.words()))
        if reason is not None and not args.names:
            continue
        result = result_of(m, known, unbroken, args.near, bool(args.names))
        if result["result"] == "does not compile":
            if args.names:
                say(f"does not compile  {m.name}  {m.words()}")
            continue
        counts[result["result"]] += 1
        if result["result"] == "survived":
            survivors.append(m)
        by = f"\n          {result['by']}" if "by" in result else ""
        say(f"{result['result']:8}  {m.name}  {m.words()}  ({result['seconds']} s){by}")
    total = sum(counts.values())
    if survivors:
        say("\nno test fails with:")
        for m in survivors:
            say(f"  include/thrum/{m.path.relative_to(headers).as_posix()}:{m.line}: {m.words()}")
    share = counts["found"] / total if total else 1.0
    say(f"\n{counts['found']} of {total} mutations found, {share:.0%}; {len(every)} there are")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("mutants: interrupted; what is known is kept, the next run goes on with it")
