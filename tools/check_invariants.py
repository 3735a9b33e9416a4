#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Every named invariant is held or looked at somewhere, and every name that is cited exists.

An invariant has two or three capital letters and a number, and is listed in the head of one header:
`//   RQ2  tail_ - head_ <= capacity`, or `// NT1: after its exchange ...`. It is cited at least once
outside of that head: by THRUM_ASSERT(RQ2, ...), by a comment at the code that keeps it, or by a model
or a test that checks it. What is cited is listed. THRUM_ASSERT names an invariant, or says in a name of
three words or more what holds.

A step of a protocol has one letter and a number (`S2 fence`) and is told in the head of a header, too;
a step that is cited is told in the same file, or in one header only, or the line names the header.
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
NAME = r"[A-Z]{2,3}[0-9]{1,2}"
STEP = r"[A-Z][0-9]{1,2}"
LISTED = re.compile(rf"^//\s+(?:Invariants? )?({NAME})(?:  |: )")
TOLD = re.compile(rf"(?:^//|\s\s|: ) *({STEP}) +\S")
CITED = re.compile(rf"\b({NAME})\b")
STEP_CITED = re.compile(rf"(?<![\w/.-])({STEP})\b(?![\w.]*\()")
ASSERT = re.compile(r"\bTHRUM_ASSERT\((\w+)")
# P0 is a processor, and so on: what is no step although it looks like one.
NO_STEPS = re.compile(r"-O[0-3]\b|\bO[0-3]\b")


def head_of(lines):
    n = 0
    while n < len(lines) and lines[n].startswith("//"):
        n += 1
    return n


class Tree:
    def __init__(self, files):
        """`files`: path below the root, to text. Headers are those below include/."""
        self.errors = []
        self.listed = {}  # name: file
        self.told = collections.defaultdict(set)  # step: files
        self.texts = files
        self.heads = {}
        for file, text in files.items():
            lines = text.split("\n")
            self.heads[file] = head_of(lines) if file.startswith("include/") else 0
            for line in lines[:self.heads[file]]:
                if found := LISTED.match(line):
                    if found[1] in self.listed:
                        self.errors.append(f"{file}: {found[1]} is listed in {self.listed[found[1]]} as well")
                    self.listed[found[1]] = file
                for step in TOLD.findall(line):
                    self.told[step].add(file)
        self.cite()

    def cite(self):
        cited = set()
        for file, text in self.texts.items():
            for i, line in enumerate(text.split("\n")):
                place = f"{file}:{i + 1}"
                asserted = [] if line.lstrip().startswith("#") else ASSERT.findall(line.partition("//")[0])
                for name in asserted if file.startswith("include/") else []:
                    if not re.fullmatch(NAME, name) and len(name.split("_")) < 3:
                        self.errors.append(f"{place}: THRUM_ASSERT({name}, ...) names no invariant, nor says in "
                                           "three words what holds")
                said = NO_STEPS.sub("", line.partition("//")[2])
                promised = re.search(r'static_assert\(.*"([^"]*)"', line)
                names = CITED.findall(" ".join([said, *asserted, promised[1] if promised else ""]))
                in_head = i < self.heads[file]
                for name in names:
                    if name not in self.listed:
                        self.errors.append(f"{place}: {name} is listed in no header")
                    elif not (in_head and self.listed[name] == file):
                        cited.add(name)
                if not in_head and file.startswith("include/"):
                    for step in STEP_CITED.findall(said):
                        where = self.told[step]
                        if not where:
                            self.errors.append(f"{place}: no header tells the step {step}")
                        elif file not in where and len(where) > 1 \
                                and not any(pathlib.PurePath(one).name in said for one in where):
                            self.errors.append(f"{place}: several headers tell a step {step}: "
                                               + ", ".join(sorted(where)))
        for name in sorted(self.listed.keys() - cited):
            self.errors.append(f"{self.listed[name]}: {name} is cited nowhere: assert it, name it at the code "
                               "that keeps it or at the test that checks it, or drop it")


def main():
    files = {path.relative_to(root).as_posix(): path.read_text()
             for folder in ("include", "tests") for path in sorted((root / folder).rglob("*.[hc]pp"))}
    tree = Tree(files)
    for error in tree.errors:
        print(f"check_invariants: {error}")
    if tree.errors:
        sys.exit(1)
    print(f"check_invariants: {len(tree.listed)} invariants")


if __name__ == "__main__":
    main()
