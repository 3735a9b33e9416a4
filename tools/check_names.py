#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Names of files, namespaces and macros: a header is named by its noun, guarded by its path, and
unique; the internal rooms keep to their namespaces, and what is private in the others stands in one
namespace of its room: only files below sched/ open `sched`. And what no source contains: notes of things left to do."""
import collections
import pathlib
import re
import sys

import house

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include"

FORBIDDEN = {"util", "utils", "common", "misc", "helpers", "impl", "internal"}
# The same verbs in each room on purpose.
TWINS = {"contract.hpp", "io_uring.hpp"}  # the public io_uring.hpp makes the private one available
# Macros of others that a header replaces on purpose.
REPLACED = {("thrum/errno.hpp", "errno"),
            *(("thrum/detail/os/windows/api.hpp", name) for name in ("WIN32_LEAN_AND_MEAN", "NOMINMAX", "FAR", "NEAR"))}
ROOMS = {"base", "arch", "os", "netpoll", "sched", "debug", "net", "io"}
# The private parts of the rooms above sched, and the files or folders of each room.
PRIVATE = {
    "go_detail": {"blocking", "go", "goroutine_local", "join_handle", "on_host", "options", "runtime", "start"},
    "time_detail": {"start", "time"},
    "sync_detail": {"sync"},
    "chan_detail": {"chan"},
    "select_detail": {"select"},
    "context_detail": {"context"},
    "group_detail": {"group"},
    "testing_detail": {"testing"},
    "fork_detail": {"fork_join", "parallel"},
    "generator_detail": {"generator"},
    "stop_detail": {"start", "stop_condition"},
    "net_detail": {"net"},
    "io_detail": {"io"},
}
# A caller there tells what is waited for.
SHOWN = {"net_detail", "io_detail"}


def private_namespaces(relative):
    """The namespaces for what is private in this file, of those that have a room."""
    room = pathlib.PurePosixPath(house.short_name(relative.as_posix())).parts[0].removesuffix(".hpp")
    if room == "sched":
        return ["sched"]
    return [name for name, rooms in PRIVATE.items() if room in rooms]


def namespace_errors(relative, text):
    """Which private namespaces this file opens that are not its own; unless it only names a class."""
    naming = r"\bnamespace (?:\w+::)*\w+ \{\n(?:\s*(?:class|struct) \w+;[^\n]*\n)+\}"
    opened = re.findall(r"\bnamespace ((?:\w+::)*\w+) \{", re.sub(naming, "", text))
    own = private_namespaces(relative)
    return [f"{relative}: opens namespace {name}, which is another room's; what is private here "
            + (f"stands in {' or '.join(own)}" if own else "wants a namespace in PRIVATE of tools/check_names.py")
            for name in sorted({part for names in opened for part in names.split("::")})
            if re.fullmatch(r"sched|\w+_detail", name) and name not in own]


def backtrace_errors(text):
    """A report shows the callers that are the user's: by name it knows those that are not."""
    hidden = ["sched", *(name for name in PRIVATE if name not in SHOWN)]
    forms = [form for name in hidden for form in (f'"::{name}::"', f'"{len(name)}{name}"')]
    return [f"thrum/detail/debug/backtrace.hpp: is_internal does not know {form}" for form in forms
            if form not in text]


def main():
    errors = []
    by_name = collections.defaultdict(list)
    for path in sorted(include.rglob("*.hpp")):
        relative = path.relative_to(include)
        text = path.read_text()
        if path.stem in FORBIDDEN:
            errors.append(f"{relative}: a file is named by what it holds, not '{path.stem}'")
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
        errors += namespace_errors(relative, text)
        if re.search(r"\bnamespace\s+(?:\w+::)*(?:impl|internal)\b", text):
            errors.append(f"{relative}: a private helper is a private member or a name of its room")
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

    errors += backtrace_errors((include / "thrum/detail/debug/backtrace.hpp").read_text())
    map_text = (root / "docs/internals.md").read_text()
    errors += [f"docs/internals.md: does not show the namespace {name}" for name in PRIVATE
               if f"`{name}`" not in map_text]

    for error in errors:
        print(f"check_names: {error}")
    if errors:
        sys.exit(1)
    print(f"check_names: {len(list(include.rglob('*.hpp')))} headers")


if __name__ == "__main__":
    main()
