#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Each test case asserts something, and tests are where one looks for them.

A test asserts by CHECK, REQUIRE, FAIL or static_assert, or by a function that does. A function
counts by its name: one of the same file, or of tests/support, in whose body there is an assertion
or a call of another such function. SUCCEED is none, and with_runtime is not enough: what it looks
at after a test is the same for all.

What the goroutines of a local runtime look at outlives it: atomics are declared before a runtime on
which something is started, as its destructor waits for goroutines that may still read them.

Names are unique in each of the two programs, the models and all others.

The tests of a header below include/thrum/{sched,chan,select,sync} stand in the file of its name below
tests/unit, in the model of its name, or in a file below tests/unit that includes it. What is only data
has none, and some stand elsewhere: both are listed here.
"""
import itertools
import pathlib
import re
import sys

import house

root = pathlib.Path(__file__).resolve().parent.parent
tests = root / "tests"
ASSERTION = re.compile(r"\b(?:(?:STATIC_)?(?:CHECK|REQUIRE)|FAIL)(?:_[A-Z_]+)?\s*\("
                       r"|\bstatic_assert\s*\(")
CASE = re.compile(r"^(?:TEMPLATE_(?:LIST_|PRODUCT_)?)?TEST_CASE(?:_METHOD|_SIG)?\s*\(", re.M)
FUNCTION = re.compile(r"\b([a-z]\w*)\s*(?=\()")
LAMBDA = re.compile(r"\bauto\s+(\w+)\s*=\s*\[")
BEHIND = re.compile(r"\)(?:\s|const\b|noexcept\b|override\b|->[\w:<>,*& ]+)*(?::[^{};]*)?\{")
RUNTIME = re.compile(r"( +)(?:thrum::)?(?:runtime|basic_runtime<.*>) (\w+)[({;]")
NOT_ENOUGH = {"with_runtime", "if", "for", "while", "switch", "catch"}

ROOMS = ("sched", "chan", "select", "sync")
# Nothing in them does anything.
DATA = {
    "sched/core/g_state": "names of states, and the words for them",
    "sched/core/m": "what an M consists of",
    "sched/core/p": "what a P consists of",
    "sched/core/p_state": "names of states",
    "sched/core/scheduler_config": "options",
    "sched/queue/no_deadline": "one constant",
}
# header -> the test below tests/unit
ELSEWHERE = {
    "chan/core": "chan_test",
    "chan/handle": "chan_test",
    "sched/core/reclaim": "sched/core/give_back_test",  # one subject: its essay, and its steps
    "sched/core/stack_memory": "sched/core/stack_test",
    "sched/core/stack_size": "sched/core/stack_test",
    "sched/io/poll_close": "sched/io/poll_wait_test",
    "sched/io/poll_events": "sched/io/poll_desc_test",
    "sched/io/poll_foreign": "io/wait_test",
    "sched/io/poll_sleep": "sched/io/poll_wait_test",
    "sched/queue/timer_heap_order": "sched/queue/timer_heap_test",
    "sched/run/host_search": "sched/run/host_loop_test",
    "sched/watch/monitor_duties": "sched/watch/monitor_test",
    "select/engine": "select_test",
    "sync/condition_variable_any": "sync/condition_variable_test",
    "sync/mutex_queue": "sync/mutex_test",
    "sync/mutex_waiter": "sync/mutex_test",
}


def masked(text):
    """The text with comments and literals blanked, each place where it was."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group())
    literal = r'"(?:\\.|[^"\\\n])*"' + r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'"
    raw = r'R"(\w*)\(.*?\)\1"'
    return re.sub(rf"//[^\n]*|/\*.*?\*/|{raw}|{literal}", blank, text, flags=re.S)


def closing(code, opening):
    """Where the bracket at `opening` is closed; the end if it is not."""
    pair = {"(": ")", "{": "}", "[": "]"}[code[opening]]
    depth = 0
    for i in range(opening, len(code)):
        depth += (code[i] == code[opening]) - (code[i] == pair)
        if depth == 0:
            return i
    return len(code)


def bodies(code):
    """(name, body) of each function and each lambda with a name."""
    for found in FUNCTION.finditer(code):
        if found.group(1) not in NOT_ENOUGH:
            end = closing(code, found.end())
            behind = BEHIND.match(code, end)
            if behind:
                opening = behind.end() - 1
                yield found.group(1), code[opening:closing(code, opening)]
    for found in LAMBDA.finditer(code):
        opening = code.find("{", found.end())
        if opening > 0:
            yield found.group(1), code[opening:closing(code, opening)]


def asserts(body, helpers):
    return ASSERTION.search(body) or any(
        found.group(1) in helpers for found in re.finditer(r"\b(\w+)\s*[(<,)]", body))


def asserting(functions, known=frozenset()):
    """The names of those that assert, by themselves or through each other."""
    names = set(known)
    while True:
        more = {name for name, body in functions if name not in names and asserts(body, names)}
        if not more:
            return names
        names |= more


def outlived(code):
    """(line, name) of each atomic that is gone before a runtime that starts goroutines."""
    lines = code.split("\n")
    for start, line in enumerate(lines):
        runtime = RUNTIME.match(line)
        if not runtime:
            continue
        indent, name = runtime.groups()
        behind = list(itertools.takewhile(lambda text: not text.strip() or text.startswith(indent),
                                          lines[start + 1:]))
        if any(re.search(rf"\b{name}\.(?:go|spawn)\(", text) for text in behind):
            for number, text in enumerate(behind, start + 2):
                atomic = re.match(rf"{indent}std::atomic(?:<.*>|_\w+) (\w+)[{{(;]", text)
                if atomic:
                    yield number, atomic.group(1)


def misplaced():
    """What is wrong with where the tests of the headers stand."""
    headers = {house.short_name(path.relative_to(house.include).with_suffix("").as_posix())
               for room in ROOMS for path in house.headers_of(room)}
    included = {house.short_name(name) for path in (tests / "unit").rglob("*_test.cpp")
                for name in re.findall(r"^#include <thrum/(.*)\.hpp>", path.read_text(), re.M)}
    for header in sorted(headers):
        unit = f"unit/{header}_test.cpp"
        model = f"model/{header.rsplit('/', 1)[-1]}_model.cpp"
        if (tests / unit).exists() or (tests / model).exists():
            if header in DATA or header in ELSEWHERE:
                yield f"{header}.hpp has tests of its own: it is not to be listed as one without"
        elif header in ELSEWHERE:
            if not (tests / f"unit/{ELSEWHERE[header]}.cpp").exists():
                yield f"{header}.hpp: its tests are to be in tests/unit/{ELSEWHERE[header]}.cpp"
        elif header not in DATA and header not in included:
            yield f"{header}.hpp has no tests: no tests/{unit}, no tests/{model}, and no test includes it"
    for gone in sorted({*DATA, *ELSEWHERE} - headers):
        yield f"{gone}.hpp is listed, and not there"


support = asserting([f for path in sorted((tests / "support").glob("*.hpp"))
                     for f in bodies(masked(path.read_text()))])
cases = 0
first = {}  # (program, name of a case): where it stands
errors = list(misplaced())
for folder in ("unit", "go", "examples", "opt_in", "debuggers", "model"):
    for path in sorted((tests / folder).rglob("*.cpp")):
        text = path.read_text()
        code = masked(text)
        # Headers beside the tests (a client that several files use) belong to each of them, also to those
        # in the folder of one system.
        near = [masked(header.read_text()) for folder_of in (path.parent, path.parent.parent)
                for pattern in ("*.hpp", "support/*.hpp") for header in folder_of.glob(pattern)]
        helpers = asserting([f for source in (code, *near) for f in bodies(source)], support)
        for line, name in outlived(code):
            errors.append(f"{path.relative_to(root)}:{line}: {name} is gone before the runtime whose "
                          "goroutines may use it: declare it above the runtime")
        for found in CASE.finditer(code):
            cases += 1
            end = closing(code, found.end() - 1)
            opening = code.find("{", end)
            name = " ".join(re.findall(r'"([^"]*)"', text[found.start():end])[:1])
            place = f"{path.relative_to(root)}:{code.count(chr(10), 0, found.start()) + 1}"
            if not asserts(code[opening:closing(code, opening)], helpers):
                errors.append(f"{place}: asserts nothing: {name}")
            other = first.setdefault((folder == "model", name), place)
            if other != place:
                errors.append(f"{place}: has the name of another one, at {other}: {name}")

for error in errors:
    print(f"check_tests: {error}")
if errors:
    sys.exit(1)
print(f"check_tests: {cases} test cases assert something; each header has tests")
