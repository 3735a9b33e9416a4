#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Every atomic access writes its memory order, and every order has a reason that fits it.

The forms are told at the head of base/order.hpp. What is held here, on the syntax tree:

  - each access and each fence writes its orders by their own names, without a variable, a constant,
    a condition or a default in between; no operator, conversion or builtin touches an atomic;
  - each release, acquire, acq_rel, seq_cst and each fence has one bracket of its own in its comments,
    and each bracket has one such access: [a.tag >] a release, [a.tag <] an acquire, [a.tag <>] an
    acq_rel, [a.tag =] a seq_cst or one half of an asymmetric fence; with two tags, [a.tag >, b.tag <];
  - each tag has both sides, on the same object if no fence stands in between;
  - the functions that hold fences are listed once, `Fences of [a.tag]: f, g.`, and hold as many;
  - a relaxed that relies on a fence names it, `the fence of [a.tag]`, and it stands in that function, or
    `in f`;
  - no store is seq_cst: an exchange is, for the reason that base/order.hpp gives;
  - each relaxed has `relaxed:` and a reason; but for the failure of a weak compare-exchange, which is tried
    again, a load beside a compare-exchange of the same object in that function, and the calls of
    base/relaxed.hpp's types.

Comments that speak about an access: on its lines, to the end of its statement, directly above the
statement, or above the run of accesses that it belongs to. [a.tag] alone refers to a tag.
"""
import collections
import pathlib
import re
import sys

import atomics
import syntax_tree

root = syntax_tree.root
NAME = r"[a-z]+\.[a-z0-9_]+"
SIGNS = {">": "release", "<": "acquire", "<>": "acq_rel", "=": "seq_cst"}
SIGN_OF = {order: sign for sign, order in SIGNS.items()}
BRACKET = re.compile(rf"(?<![\w\[])\[({NAME} ?(?:<>|[<>=])(?:, {NAME} ?(?:<>|[<>=]))*)\]")
REFERENCE = re.compile(rf"(?<![\w\[])\[({NAME})\]")
RELAXED = re.compile(r"relaxed:\s*\w")
FENCES = re.compile(rf"[Ff]ences of \[({NAME})\]: ([\w, ]+)\.")
BY_FENCE = re.compile(rf"relaxed:[^.;]*?\bfences?\b(?: of \[({NAME})\](?: in (\w+))?)?")


class Bracket:
    def __init__(self, text, line):
        self.text, self.line = text, line
        parts = [part.strip() for part in text.split(",")]
        self.tags = [(re.match(NAME, part)[0], re.search(r"[<>=]+$", part)[0]) for part in parts]

    def order(self):
        signs = {sign for _, sign in self.tags}
        if "=" in signs:
            return "seq_cst"
        return SIGNS[signs.pop()] if len(signs) == 1 else "acq_rel"


class Comments:
    """What the comments of a file say, and about which lines."""

    def __init__(self, text, accesses):
        self.lines = atomics.split_comments(text)
        self.code = [code.strip() for code, _, _ in self.lines]
        self.busy = {line for a in accesses for line in range(a.first, a.last + 1)}

    def begins(self, i):
        """Whether a statement begins on line i: the line before ends one, or is no code."""
        before = self.code[i - 1] if i else ""
        return before == "" or before[-1] in ";{}" or before.endswith(":") or before.startswith("#")

    def continues(self, i):
        """Whether the comment line i continues the comment behind the code above it."""
        j = i
        while j and not self.code[j] and self.lines[j][1] and self.lines[j][2] == self.lines[i][2]:
            j -= 1
        return bool(j < i and self.code[j] and self.lines[j][2] == self.lines[i][2])

    def above(self, i):
        """The comment directly above line i, or above the accesses that it stands together with."""
        j = i - 1
        while j >= 0 and (self.code[j] or self.lines[j][1] and self.continues(j)):
            if self.code[j] and self.begins(j + 1):
                start = j
                while not self.begins(start):
                    start -= 1
                if not self.busy.intersection(range(start, j + 1)):
                    break
            j -= 1
        found = []
        while j >= 0 and not self.code[j] and self.lines[j][1] and not self.continues(j):
            found.append(j)
            j -= 1
        return found[::-1]

    def about(self, access):
        """The numbers of the lines whose comments speak about an access."""
        first, last = access.first, access.last
        while last + 1 < len(self.code) and not self.code[last].endswith((";", "{", "}")):
            last += 1
        while not self.begins(first):
            first -= 1
        found = self.above(first) + list(range(first, last + 1))
        while last + 1 < len(self.code) and self.lines[last + 1][1] and self.continues(last + 1):
            last += 1
            found.append(last)
        loop = re.match(r"(\s*)} while\b", self.lines[first][0])
        if loop:  # the comment above a do-while speaks about its condition too
            for j in range(first - 1, -1, -1):
                if self.lines[j][0].rstrip() == loop[1] + "do {":
                    found += self.above(j)
                    break
        return [i for i in found if self.lines[i][1]]

    def joined(self):
        """Each comment in one piece: (number of its first line, text)."""
        pieces = []
        for i, (_, comment, _) in enumerate(self.lines):
            if not comment:
                continue
            if pieces and pieces[-1][2] == i - 1 and (not self.code[i] and (
                    not self.code[i - 1] or self.continues(i))):
                pieces[-1][1] += " " + comment.lstrip("/").strip()
                pieces[-1][2] = i
            else:
                pieces.append([i, comment.lstrip("/").strip(), i])
        return [(first, text) for first, text, _ in pieces]


class File:
    """One source: its accesses, what its comments say about them, and what of that does not fit."""

    def __init__(self, name, text, accesses):
        self.name, self.text, self.accesses = name, text, accesses
        self.comments = Comments(text, accesses)
        self.errors = []
        self.held = []  # (access, bracket)
        self.fenced = []  # (access, tag, function): relaxed, for a fence of that tag stands there
        pieces = self.comments.joined()
        self.references = [(line, tag) for line, said in pieces for tag in REFERENCE.findall(said)]
        self.fences = [(line, found[1], sorted(re.split(r",\s*", found[2])))
                       for line, said in pieces for found in FENCES.finditer(said)]
        self.pair()
        self.explain()

    def error(self, line, text):
        self.errors.append((self.name, line + 1, text))

    def pair(self):
        brackets = [Bracket(found[1], i) for i, (_, comment, _) in enumerate(self.comments.lines)
                    for found in BRACKET.finditer(comment)]
        strong = [a for a in self.accesses if a.order() != "relaxed"]
        near = {a: [b for b in brackets if b.line in lines] for a in strong
                for lines in [set(self.comments.about(a))]}
        pairs, used = {}, set()
        for a in sorted(strong, key=lambda a: len(near[a])):  # those with the least choice first
            fits = [b for b in near[a] if b.order() == a.order() and b not in used]
            if fits:
                pairs[a] = min(fits, key=lambda b: not a.first <= b.line <= a.last)
                used.add(pairs[a])
        self.held = list(pairs.items())
        for a in strong:
            if a.name == "store" and a.order() == "seq_cst":
                self.error(a.first, "a seq_cst store: make it an exchange, which emulators keep before later loads")
            if a in pairs:
                continue
            other = [b for b in near[a] if b not in used]
            if other:
                self.error(a.first, f"{a.name} is {a.order()}, but [{other[0].text}] says {other[0].order()}")
                used.add(other[0])
            else:
                self.error(a.first, f"{a.order()} without a bracket of its own, such as "
                                    f"[a.tag {SIGN_OF[a.order()]}]")
        for b in brackets:
            if b not in used:
                self.error(b.line, f"[{b.text}] without an access of that order beside it")

    def needs_reason(self, a):
        if a.name == "load" and a.function and any(
                b.name.startswith("compare") and (b.target, b.function) == (a.target, a.function)
                for b in self.accesses):
            return False
        return "relaxed" in (a.orders[:1] if a.name.endswith("_weak") else a.orders)

    def explain(self):
        for a in self.accesses:
            if not self.needs_reason(a):
                continue
            lines = self.comments.about(a)
            said = " ".join(self.comments.lines[i][1].lstrip("/").strip() for i in lines)
            if not RELAXED.search(said):
                self.error(a.first, "relaxed without `relaxed:` and a reason")
            for tag, function in BY_FENCE.findall(said):
                if tag:
                    self.fenced.append((a, tag, function or a.function))
                else:
                    self.error(a.first, "relaxed because of which fence? Say `the fence of [a.tag]`, and "
                                        "`in` which function if it is another one")


def tags(files):
    """What is wrong with a tag as a whole: a side, an object, or a fence that is missing."""
    errors = []
    holders = collections.defaultdict(list)
    for file in files:
        for access, bracket in file.held:
            for tag, sign in bracket.tags:
                holders[tag].append((access, sign, file))
    lists = collections.defaultdict(list)
    for file in files:
        for line, tag, functions in file.fences:
            lists[tag].append((file, line, functions))
        for line, tag in file.references:
            if tag not in holders:
                errors.append((file.name, line + 1, f"[{tag}] refers to a tag that no access has"))
        for access, tag, function in file.fenced:
            if not any(a.is_fence() and a.function == function for a, _, _ in holders.get(tag, [])):
                errors.append((file.name, access.first + 1, f"{function} has no fence of [{tag}]"))
    for tag, held in sorted(holders.items()):
        access, _, file = held[0]
        place = (file.name, access.first + 1)

        def publishes(a, sign):
            return ">" in sign or sign == "=" and a.writes()

        def sees(a, sign):
            return "<" in sign or sign == "=" and a.reads()

        if not any(publishes(a, sign) for a, sign, _ in held):
            errors.append((*place, f"[{tag}] publishes nowhere: it has no >"))
        if not any(sees(a, sign) for a, sign, _ in held):
            errors.append((*place, f"[{tag}] is seen nowhere: it has no <"))
        if sum(sign == "=" for _, sign, _ in held) == 1:
            errors.append((*place, f"[{tag} =] occurs once: one total order takes two sides"))
        fences = [a for a, _, _ in held if a.is_fence()]
        names = {a.name.removesuffix("_for") for a in fences}
        if ("light_fence" in names) != ("heavy_fence" in names):
            errors.append((*place, f"[{tag}] has one half of an asymmetric fence only"))
        if not fences:
            for a, sign, where in held:
                others = [(b, s) for b, s, _ in held if b.target == a.target]
                if not any(publishes(b, s) for b, s in others) or not any(sees(b, s) for b, s in others):
                    errors.append((where.name, a.first + 1,
                                   f"[{tag}] has only one side on `{a.target}`: its other accesses are on "
                                   + ", ".join(sorted({f"`{b.target}`" for b, _, _ in held
                                                       if b.target != a.target}) or ["nothing"])))
        found = sorted(a.function for a in fences)
        if (fences or lists[tag]) and [f for _, _, f in lists[tag]] != [found]:
            at = (lists[tag][0][0].name, lists[tag][0][1] + 1) if lists[tag] else place
            errors.append((*at, f"write once: Fences of [{tag}]: {', '.join(found)}."))
    for tag in lists.keys() - holders.keys():
        file, line, _ = lists[tag][0]
        errors.append((file.name, line + 1, f"[{tag}] has no fence at all"))
    return errors, holders


def examine(finder, names):
    """All that is wrong in these files, as (file, line, text); how many accesses; the tags."""
    by_file = collections.defaultdict(list)
    for (file, _, _), access in sorted(finder.accesses.items(), key=lambda one: one[0]):
        by_file[file].append(access)
    files = [File(name, finder.texts[name], by_file[name]) for name in names]
    errors = [e for e in finder.errors if e[0] in names]
    for file in files:
        errors += file.errors
    more, holders = tags(files)
    return sorted(set(errors + more)), sum(len(f.accesses) for f in files), holders


def library():
    """The whole library in one translation unit."""
    include = root / "include"
    texts = {str(p): p.read_text() for p in sorted(include.rglob("*.hpp"))}
    first = ["thrum/implementation.hpp"]
    rest = [p.relative_to(include).as_posix() for p in map(pathlib.Path, texts)
            if "/put_macros_" not in str(p) and p.name != "execution.hpp"]  # needs senders; has no atomic
    main = str(include / "every_header.cpp")
    body = "".join(f"#include <{name}>\n" for name in first + rest)
    tree = syntax_tree.Tree(main, {main: body}, ["-DTHRUM_SEPARATE=1", "-DTHRUM_CHECKS=1"])
    return atomics.Finder(tree, texts)


def main():
    finder = library()
    # The one shows the forms, the other says what its calls need no comment for.
    names = [name for name in finder.texts if not name.endswith(("/base/order.hpp", "/base/relaxed.hpp"))]
    errors, accesses, holders = examine(finder, names)
    for name, line, text in errors:
        print(f"check_orders: {pathlib.Path(name).relative_to(root)}:{line}: {text}")
    if errors:
        sys.exit(1)
    print(f"check_orders: {accesses} accesses, {len(holders)} pairings")


if __name__ == "__main__":
    main()
