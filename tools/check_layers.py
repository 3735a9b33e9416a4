#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The floors of the house: a file includes its own floor or lower ones, there is no cycle, platform
conditions stand only where a platform is chosen, and docs/internals.md names every header."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include"

# Folder or file below include/thrum -> floor. Floor 6 has an inner order.
FLOORS = {
    "version.hpp": 0, "base": 0,
    "arch": 1, "os": 1,
    "netpoll": 2,
    "sched": 3,
    "debug": 4,
    "attributes.hpp": 5, "options.hpp": 5, "deadline.hpp": 5, "panic.hpp": 5, "join_handle.hpp": 5,
    "task.hpp": 5, "runtime.hpp": 5, "go.hpp": 5, "this_goroutine.hpp": 5, "blocking.hpp": 5,
    "sync": 6.1,
    "chan": 6.2, "chan.hpp": 6.2,
    "time": 6.4, "time.hpp": 6.4,
}
# Rooms of one floor that must not know each other.
STRANGERS = [("arch", "os")]
# Headers of the standard library that a low floor must not pull in.
HEAVY = {"functional", "stop_token", "thread", "mutex", "iostream", "regex", "ranges"}
PLATFORM = re.compile(
    r"^#\s*(?:el)?if.*\b(?:__linux__|_WIN32|__APPLE__|__FreeBSD__|__x86_64__|__aarch64__"
    r"|THRUM_OS_\w+|THRUM_ARCH_\w+|THRUM_POLLER_\w+)\b", re.M)
CHOOSERS = {"thrum/base/config.hpp", "thrum/arch/arch.hpp", "thrum/os/os.hpp",
            "thrum/netpoll/netpoll.hpp"}

errors = []
graph = {}


def room(name):
    parts = pathlib.PurePosixPath(name).parts
    return parts[1] if len(parts) > 1 else "thrum.hpp"


def floor(name):
    if name == "thrum.hpp":
        return 8
    if room(name) not in FLOORS:
        errors.append(f"{name}: stands on no floor; add its room to tools/check_layers.py")
        return 8
    return FLOORS[room(name)]


for path in sorted(include.rglob("*.hpp")):
    name = path.relative_to(include).as_posix()
    text = path.read_text()
    graph[name] = re.findall(r"^#include <(thrum[^>]*)>", text, re.M)
    for target in graph[name]:
        if not (include / target).exists():
            errors.append(f"{name}: includes {target}, which does not exist")
        elif floor(target) > floor(name):
            errors.append(f"{name} (floor {floor(name)}) includes {target} (floor {floor(target)})")
        elif any({room(name), room(target)} == set(pair) for pair in STRANGERS):
            errors.append(f"{name} and {target} must not know each other")
    for header in re.findall(r"^#include <(\w+)>", text, re.M):
        if header in HEAVY and floor(name) < 5 or header in {"iostream", "regex", "ranges"}:
            errors.append(f"{name}: <{header}> is too heavy for floor {floor(name)}")
    conditions = PLATFORM.findall(text)
    allowed = 99 if name in CHOOSERS else 1 if floor(name) in (1, 2) else 0
    if len(conditions) > allowed and not (floor(name) == 1 and len(conditions) <= 2):
        errors.append(f"{name}: {len(conditions)} platform conditions; {allowed} may stand here")
    if re.search(r'^#include "', text, re.M):
        errors.append(f"{name}: headers are included as <thrum/...>")

# Cycles, by depth-first search.
state = {}


def visit(name, trail):
    if state.get(name) == "done":
        return
    if state.get(name) == "open":
        errors.append("include cycle: " + " -> ".join(trail[trail.index(name):] + [name]))
        return
    state[name] = "open"
    for target in graph.get(name, []):
        visit(target, trail + [name])
    state[name] = "done"


for name in graph:
    visit(name, [])

# The map names every header.
map_text = (root / "docs/internals.md").read_text()
for name in graph:
    short = name.removeprefix("thrum/")
    folder = str(pathlib.PurePosixPath(short).parent) + "/"
    if name != "thrum.hpp" and short not in map_text and f"`{folder}`" not in map_text \
            and room(name) != "version.hpp":
        errors.append(f"docs/internals.md: the map does not show {short}")

for error in errors:
    print(f"check_layers: {error}")
if errors:
    sys.exit(1)
print(f"check_layers: {len(graph)} headers, {sum(map(len, graph.values()))} includes, no cycle")
