#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Writes single_include/thrum.hpp, the library in one file, from include/.

  amalgamate.py           writes it
  amalgamate.py --check   says whether it is what include/ gives; exit status 1 if not
  amalgamate.py --mirror FOLDER
                          makes an include folder for programs that name other headers than thrum.hpp,
                          as the tests do: there each header of the interface includes the one file; others,
                          which count in it for one source file or one system only, are as they were

Each header stands where it is first included. A header that is first included inside an #if, which may be
false, stands again where it is included under other conditions: its guard sees to it that it counts once. What the
headers have at their ends under THRUM_BODIES, the implementation, stands at the end of the one file;
with THRUM_SEPARATE it counts only in the source file that defines THRUM_IMPLEMENTATION first.
"""
import argparse
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
SINGLE = ROOT / "single_include" / "thrum.hpp"
DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|include|define)\b\s*(.*?)\s*(?://.*)?$")
OWN = re.compile(r"<(thrum(?:/[\w/.]+)?\.hpp)>")
# Included again and again, without a guard.
UNGUARDED = re.compile(r"thrum/detail/base/put_macros_\w+\.hpp")
BODIES = re.compile(r"THRUM_(?:TEMPLATE_)?BODIES\b")

HEAD = """\
// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// thrum {version}: Go's scheduler for C++, in one file, which tools/amalgamate.py has made of include/.
// Change that instead.
//
// With THRUM_SEPARATE=1 in all source files of a program, exactly one of them contains the implementation:
//   #define THRUM_IMPLEMENTATION
//   #include <thrum.hpp>
#ifdef THRUM_IMPLEMENTATION
#define THRUM_BODIES 1
#endif
"""
# Public headers that are not in thrum.hpp; HEADERS_HERE stands for them.
BESIDE = """
#if THRUM_REQUIREMENTS_MET
#include <thrum/detail/base/put_macros_aside.hpp>
//
HEADERS_HERE
#ifdef THRUM_FAKE_NET
#include <thrum/testing/fake_net.hpp>
#endif
#ifdef THRUM_IO_URING
#include <thrum/io_uring.hpp>
#endif
//
#include <thrum/detail/base/put_macros_back.hpp>
#endif
"""
# The other end of the file; BODIES_HERE stands for what was put aside.
IMPLEMENTATION = """
// ==== the implementation ===========================================================================
#if THRUM_REQUIREMENTS_MET
#if THRUM_TEMPLATE_BODIES
#include <thrum/detail/base/put_macros_aside.hpp>
//
BODIES_HERE
#if THRUM_BODIES && THRUM_SEPARATE
#include <thrum/testing/fake_net.hpp>
#include <thrum/detail/netpoll/io_uring.hpp>
#endif
//
#include <thrum/detail/base/put_macros_back.hpp>
#endif
#endif
"""


def directives(lines):
    """(number, kind, argument) of each preprocessor line; lines that end in a backslash are joined."""
    i = 0
    while i < len(lines):
        first, text = i, lines[i]
        while text.endswith("\\") and i + 1 < len(lines):
            i += 1
            text = text[:-1] + lines[i]
        if found := DIRECTIVE.match(text):
            yield first, i, found[1], found[2]
        i += 1


def find_guard(name, lines):
    """The numbers of a header's #ifndef and of the #endif that ends it."""
    found = [(first, kind, text) for first, _, kind, text in directives(lines)]
    if [kind for _, kind, _ in found[:2] + found[-1:]] != ["ifndef", "define", "endif"] or (
            found[0][2] != found[1][2].split()[0]):
        sys.exit(f"amalgamate: {name}: has no include guard")
    return found[0][0], found[-1][0]


class Conditions:
    """Under which a place is compiled: on which systems, and what else must hold."""

    SYSTEMS = {"LINUX": "ELF POSIX", "MACOS": "BSD POSIX", "FREEBSD": "BSD ELF POSIX", "WINDOWS": ""}
    NAMES = [*SYSTEMS, "ELF", "BSD", "POSIX"]

    def __init__(self, systems=frozenset(SYSTEMS), others=frozenset()):
        self.systems, self.others = systems, others

    def and_if(self, test):
        """These and one more, as it stands behind #if."""
        if set(re.findall(r"\w+", test)) - {f"THRUM_OS_{name}" for name in self.NAMES} or (
                re.search(r"[^\w\s!&|()]", test)):
            return Conditions(self.systems, self.others | {test})
        words = test.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        return Conditions(frozenset(
            one for one in self.systems if eval(words, {"__builtins__": {}}, {
                f"THRUM_OS_{name}": name == one or name in self.SYSTEMS[one].split()
                for name in self.NAMES})), self.others)


class Amalgam:
    def __init__(self, include=INCLUDE):
        self.include = include
        self.out = []
        self.under = {}  # header: under which conditions it stands in the file
        self.bodies = {}  # header: of each part when it is compiled, and its lines; None once they go where they stand

    def stands(self, name, here):
        """Whether it has been compiled before whenever this place is."""
        return here.systems <= {one for before in self.under.get(name, [])
                                if before.others <= here.others for one in before.systems}

    def add(self, name, conditions):
        """A header and, in their places, those that it includes and that do not stand there yet."""
        lines = (self.include / name).read_text().splitlines()
        guard = ()
        if not UNGUARDED.match(name):
            guard = find_guard(name, lines)
            self.under.setdefault(name, []).append(conditions)
        if self.bodies is not None:
            self.bodies[name] = []
        self.out.append(f"// ---- {name} ----")
        self.add_lines(name, lines, guard, conditions)
        self.out.append("")

    def add_lines(self, name, lines, guard, conditions, stack=None):
        """`stack`: of each #if that is open, what holds in this branch, and what does not."""
        at = dict((first, (last, kind, text)) for first, last, kind, text in directives(lines))
        stack = [] if stack is None else stack
        depth, aside = 0, None  # open #if inside of the bodies, which are put aside
        i = 0
        while i < len(lines):
            last, kind, text = at.get(i, (i, "", ""))
            first, piece, i = i, lines[i:last + 1], last + 1
            is_if = kind in ("if", "ifdef", "ifndef")
            if depth == 0 and guard and self.bodies is not None and kind == "if" and BODIES.match(text):
                tests = [f"defined({lines[guard[0]].split()[1]})"]
                tests += [test for holds, not_these in stack for test in holds + [f"!({t})" for t in not_these]]
                aside = (tests + [text], [])
                self.bodies[name].append(aside)
                depth = 1
                continue
            if depth > 0:
                depth += is_if - (kind == "endif")
                if depth > 0:
                    aside[1].extend(piece)
                continue
            if is_if and first not in guard:
                stack.append(([{"if": text, "ifdef": f"defined({text})", "ifndef": f"!defined({text})"}[kind]], []))
            elif kind in ("elif", "else"):
                holds, not_these = stack.pop()
                stack.append(([text] if kind == "elif" else [], not_these + holds[:1]))
            elif kind == "endif" and first not in guard:
                stack.pop()
            elif kind == "include" and (own := OWN.match(text)):
                here = conditions
                for holds, not_these in stack:
                    for test in holds + [f"!({c})" for c in not_these]:
                        here = here.and_if(test)
                if not self.stands(own[1], here):
                    self.add(own[1], here)
                continue
            self.out += piece

    def order(self, name, seen, ordered):
        """The headers as they end when each includes the others itself: bodies need what other bodies declare."""
        if name not in seen and (self.include / name).exists():
            seen.add(name)
            for other in re.findall(r"^\s*#\s*include " + OWN.pattern, (self.include / name).read_text(), re.M):
                self.order(other, seen, ordered)
            ordered.append(name)
        return ordered

    def add_bodies(self, first, conditions):
        """What was put aside, under the conditions under which its header's text counts. `first`: includes all."""
        bodies, self.bodies = self.bodies, None
        for name in self.order(first, set(), []):
            for tests, lines in bodies.get(name, []):
                under = self.under[name]
                here = Conditions(conditions.systems & {one for each in under for one in each.systems}, conditions.others)
                for test in tests[all(each.others <= conditions.others for each in under):]:
                    here = here.and_if(test)
                self.out += [f"// ---- {name}: bodies ----", "#if " + " && ".join(
                    test if re.fullmatch(r"[\w()]+", test) else f"({test})" for test in tests)]
                self.add_lines(name, lines, (), here)
                self.out += ["#endif", ""]


def without_licences(lines):
    return [line for line in lines if not line.startswith("// SPDX-")]


def amalgamate():
    version = ".".join(re.search(rf"#define THRUM_VERSION_{part}\s+(\d+)",
                                 (INCLUDE / "thrum/version.hpp").read_text())[1]
                       for part in ("MAJOR", "MINOR", "PATCH"))
    amalgam = Amalgam()
    amalgam.add("thrum.hpp", Conditions())
    beside = re.findall(r"^#include <thrum/(?!detail|testing/fake_net).*>", (
        INCLUDE / "thrum/implementation.hpp").read_text(), re.M)
    amalgam.add_lines("", BESIDE.replace("HEADERS_HERE", "\n".join(beside)).splitlines(), (), Conditions())
    met = Conditions(others=frozenset(["THRUM_REQUIREMENTS_MET"]))
    interface = {name for name in amalgam.under if amalgam.stands(name, met)}
    stack = []
    before, after = IMPLEMENTATION.split("BODIES_HERE")
    amalgam.add_lines("", before.splitlines(), (), Conditions(), stack)
    amalgam.add_bodies("thrum/implementation.hpp", met.and_if("THRUM_TEMPLATE_BODIES"))
    amalgam.add_lines("", after.splitlines(), (), Conditions(), stack)
    body = "\n".join(without_licences(amalgam.out)) + "\n"
    return HEAD.format(version=version) + "\n" + re.sub(r"\n{3,}", "\n\n", body), interface


def mirror(folder, text, interface):
    shutil.rmtree(folder, ignore_errors=True)
    for path in INCLUDE.rglob("*.hpp"):
        name = path.relative_to(INCLUDE).as_posix()
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if name == "thrum.hpp":
            to.write_text(text)
        elif name == "thrum/implementation.hpp":
            to.write_text("#define THRUM_IMPLEMENTATION\n#include <thrum.hpp>\n")
        elif name in interface and name != "thrum/version.hpp":  # CMakeLists.txt reads it
            to.write_text("#include <thrum.hpp>\n")
        else:
            shutil.copyfile(path, to)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--mirror", type=pathlib.Path)
    arguments = parser.parse_args()
    text, interface = amalgamate()
    if arguments.mirror:
        mirror(arguments.mirror, text, interface)
    elif arguments.check:
        if not SINGLE.exists() or SINGLE.read_text() != text:
            print("amalgamate: single_include/thrum.hpp is not what include/ gives: run ./dev amalgamate")
            sys.exit(1)
        print(f"amalgamate: single_include/thrum.hpp, {text.count(chr(10))} lines")
    else:
        SINGLE.parent.mkdir(exist_ok=True)
        SINGLE.write_text(text)


if __name__ == "__main__":
    main()
