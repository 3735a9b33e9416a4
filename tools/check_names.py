#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Names of files, namespaces and macros: a header is guarded by its path, and no other has its name; a macro begins with
THRUM_; `namespace thrum` opens so that editors see what is inside, and only files below sched/ open `sched`; reports of callers
know each private namespace. And no source has a note of work that is left to do."""
import collections
import pathlib
import re
import sys

import house

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include"

# The same verbs in each room on purpose.
TWINS = {"contract.hpp", "io_uring.hpp"}  # the public io_uring.hpp makes the private one available
# Macros of others that a header replaces on purpose.
REPLACED = {("thrum/errno.hpp", "errno"),
            *(("thrum/detail/os/windows/api.hpp", name) for name in ("WIN32_LEAN_AND_MEAN", "NOMINMAX", "FAR", "NEAR"))}
ROOMS = {"base", "arch", "os", "netpoll", "sched", "debug", "net", "io"}
# A caller there tells what is waited for.
SHOWN = {"net_detail", "io_detail"}


def opens_sched(text):
    """Whether it opens the scheduler's namespace, and not only to name a class."""
    naming = r"\bnamespace (?:\w+::)*\w+ \{\n(?:\s*(?:class|struct) \w+;[^\n]*\n)+\}"
    return bool(re.search(r"\bnamespace (?:\w+::)*sched \{", re.sub(naming, "", text)))


def backtrace_errors(text, private):
    """A report shows the callers that are the user's: by name it knows those that are not."""
    forms = [form for name in sorted(private - SHOWN) for form in (f'"::{name}::"', f'"{len(name)}{name}"')]
    return [f"thrum/detail/debug/backtrace.hpp: is_internal does not know {form}" for form in forms
            if form not in text]


def main():
    errors = []
    by_name = collections.defaultdict(list)
    private = {"sched"}
    for path in sorted(include.rglob("*.hpp")):
        relative = path.relative_to(include)
        text = path.read_text()
        if path.name not in TWINS and not house.short_name(relative.as_posix()).startswith("os/"):
            by_name[path.name].append(str(relative))
        guard = "_".join(relative.with_suffix("").parts).upper() + "_HPP"
        again_and_again = {"put_macros_aside.hpp", "put_macros_back.hpp"}
        if relative.name not in again_and_again and f"#ifndef {guard}\n#define {guard}\n" not in text:
            errors.append(f"{relative}: wants the include guard {guard}")
        if not text.startswith("// SPDX-FileCopyrightText: The thrum authors\n"):
            errors.append(f"{relative}: wants the two SPDX lines first")
        for macro in re.findall(r"^#\s*define\s+(\w+)", text, re.M):
            if not macro.startswith("THRUM_") and (relative.as_posix(), macro) not in REPLACED:
                errors.append(f"{relative}: macro {macro} has no THRUM_ prefix")
        # Not `namespace thrum::inline THRUM_ABI`: Universal Ctags, and editors with it, see nothing inside.
        for place in re.findall(r"^namespace thrum\b(.*)\{$", text, re.M):
            names = re.findall(r"namespace (\w+)", place)
            if not place.startswith(" { inline namespace THRUM_ABI {") and names[:1] != ["THRUM_ABI"]:
                errors.append(f"{relative}: namespace thrum wants to begin: namespace thrum {{ inline namespace THRUM_ABI {{")
            names = names[1:]
            if ROOMS & set(relative.parts) and names and names[0].removesuffix("_detail") not in relative.parts:
                errors.append(f"{relative}: opens namespace {names[0]}, which is another room")
        private |= set(re.findall(r"\bnamespace (?:\w+::)*(\w+_detail) \{", text))
        if opens_sched(text) and not house.short_name(relative.as_posix()).startswith("sched/"):
            errors.append(f"{relative}: opens namespace sched, which is the scheduler's: only files below sched/ do")
        if text.count("\n") > 520:
            errors.append(f"{relative}: over 520 lines; which two ideas does it hold?")

    for name, places in by_name.items():
        if len(places) > 1:
            errors.append(f"{name}: two headers of one name: {', '.join(places)}")

    for folder in ("include", "tests", "bench", "examples"):
        for path in sorted((root / folder).rglob("*.[hc]pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if re.search(r"\b(?:TODO|FIXME|XXX|HACK)\b", line):
                    errors.append(f"{path.relative_to(root)}:{number}: open an issue; no notes in sources")

    errors += backtrace_errors((include / "thrum/detail/debug/backtrace.hpp").read_text(), private)

    for error in errors:
        print(f"check_names: {error}")
    if errors:
        sys.exit(1)
    print(f"check_names: {len(list(include.rglob('*.hpp')))} headers")


if __name__ == "__main__":
    main()
