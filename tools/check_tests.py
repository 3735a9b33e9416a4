#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Each test case asserts something, and its name is its own.

A test asserts by CHECK, REQUIRE, FAIL or static_assert, or by a function that does. A function
counts by its name: one of the same file, or of tests/support, in whose body there is an assertion
or a call of another such function. SUCCEED is none, and with_runtime is not enough: what it looks
at after a test is the same for all.

What the goroutines of a local runtime look at outlives it: atomics are declared before a runtime on
which something is started, as its destructor waits for goroutines that may still read them.

Names are unique in each of the two programs, the models and all others.
"""
import functools
import itertools
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
tests = root / "tests"
ASSERTION = re.compile(r"\b(?:(?:STATIC_)?(?:CHECK|REQUIRE)|FAIL)(?:_[A-Z_]+)?\s*\("
                       r"|\bstatic_assert\s*\(")
CASE = re.compile(r"^(?:(?:TEMPLATE_(?:LIST_|PRODUCT_)?)?TEST_CASE(?:_METHOD|_SIG)?|IN_RUNTIME|IN_BUBBLE)\s*\(", re.M)
FUNCTION = re.compile(r"\b([a-z]\w*)\s*(?=\()")
LAMBDA = re.compile(r"\bauto\s+(\w+)\s*=\s*\[")
BEHIND = re.compile(r"\)(?:\s|const\b|noexcept\b|override\b|->[\w:<>,*& ]+)*(?::[^{};]*)?\{")
RUNTIME = re.compile(r"( +)(?:thrum::)?(?:runtime|basic_runtime<.*>) (\w+)[({;]")
NOT_ENOUGH = {"with_runtime", "if", "for", "while", "switch", "catch"}


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


@functools.cache
def functions_of(path):
    return list(bodies(masked(path.read_text())))


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


support = asserting([f for path in sorted((tests / "support").glob("*.hpp")) for f in functions_of(path)])
cases = 0
first = {}  # (program, name of a case): where it stands
errors = []
for folder in ("unit", "go", "examples", "opt_in", "debuggers", "model"):
    for path in sorted((tests / folder).rglob("*.cpp")):
        text = path.read_text()
        code = masked(text)
        # Headers beside the tests (a client that several files use) belong to each of them, also to those
        # in the folder of one system.
        near = [header for folder_of in (path.parent, path.parent.parent)
                for pattern in ("*.hpp", "support/*.hpp") for header in folder_of.glob(pattern)]
        helpers = asserting([f for source in (path, *near) for f in functions_of(source)], support)
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
print(f"check_tests: {cases} test cases assert something")
