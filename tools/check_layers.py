#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The floors of the house: a file includes its own floor or lower ones, there is no cycle, platform
conditions stand only where a platform is chosen, what is used of the system and the processor is
what their contracts ask for, and docs/internals.md names every header."""
import pathlib
import re
import sys

import house
import platform_conditions

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include"

# Folder or file below include/thrum -> floor. Floors 3 and 6 have an inner order.
FLOORS = {
    "version.hpp": 0, "memory_hooks.hpp": 0, "base": 0,
    "arch": 1, "os": 1, "errc.hpp": 1,
    "netpoll": 2, "io_uring.hpp": 2,
    "sched/queue": 3.1, "sched/core": 3.2, "sched/stack": 3.2, "sched/thread": 3.2, "sched/freeze": 3.2,
    "sched/run": 3.3, "sched/io": 3.4, "sched/life": 3.5, "sched/watch": 3.6,
    # Of rooms by subject: what the scheduler, or a P, consists of, and what is done with it.
    "sched/host/host.hpp": 3.2, "sched/host": 3.3,
    "sched/fork/fork_deque.hpp": 3.1, "sched/fork": 3.3,
    "debug": 4, "debug/profile.hpp": 5, "debug/leaks.hpp": 6.9, "profile/leak_graph.hpp": 6.9, "profile/leak_search.hpp": 6.9,
    "profile/leak_parts.hpp": 6.9, "profile": 5, "debug/serve.hpp": 7.1, "debug/tracy.hpp": 5, "page": 7.1,
    # What the scheduler tells the recorder, and what is made of it.
    "trace/chunk.hpp": 2, "trace/event.hpp": 2, "trace/probes.hpp": 2, "trace/event_kind.hpp": 2, "trace/recorder.hpp": 2,
    "trace/hooks.hpp": 3.2, "trace/trace_parts.hpp": 5, "trace": 4, "trace.hpp": 5,
    "attributes.hpp": 5, "options.hpp": 5, "start": 5, "stop_condition.hpp": 5, "until.hpp": 5, "panic.hpp": 5, "join_handle.hpp": 5,
    "on_host.hpp": 5, "runtime.hpp": 5, "implementation.hpp": 9, "go.hpp": 5, "this_goroutine.hpp": 5, "blocking.hpp": 5,
    "errno.hpp": 5, "goroutine_local.hpp": 5, "carried_value.hpp": 5, "labels.hpp": 5, "thread_lock.hpp": 5,
    "sync": 6.1, "fork_join.hpp": 6.1, "generator.hpp": 6.2, "parallel.hpp": 6.2,
    "chan": 6.2, "chan.hpp": 6.2,
    "select": 6.3, "select.hpp": 6.3,
    "time": 6.4, "time.hpp": 6.4,
    "context": 6.5, "context.hpp": 6.5, "group": 6.6, "group.hpp": 6.6,
    "coroutine": 6.7, "coroutine.hpp": 6.7, "waiter.hpp": 6.7,
    "net": 7, "io": 7, "testing": 7.1, "interpose": 7.1, "interpose.hpp": 7.1, "interop": 7.1,
}
# Rooms of one floor: the first must not include the second.
STRANGERS = {("arch", "os"), ("os", "arch"), ("io", "net")}
# Headers of the standard library that a low floor must not pull in.
HEAVY = {"functional", "stop_token", "thread", "mutex", "iostream", "regex", "ranges"}
errors = [f"tools/check_layers.py: there is no {name}" for name in FLOORS
          if not any((include / place / name).exists() for place in ("thrum", "thrum/detail"))]
errors += [f"{path.relative_to(root)}: is no .hpp, and would not be looked at"
           for path in include.rglob("*") if path.is_file() and path.suffix != ".hpp"]
own_names = platform_conditions.own_names((include / "thrum/detail/base/config.hpp").read_text())
graph = {}


def room(name):
    """What FLOORS knows it by."""
    if house.short_name(name) in FLOORS:
        return house.short_name(name)
    parts = pathlib.PurePosixPath(house.short_name(name)).parts
    return "/".join(parts[:-1]) if parts[0] == "sched" else parts[0]


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
    graph[name] = re.findall(r"^\s*#\s*include <(thrum[^>]*)>", text, re.M)
    for target in graph[name]:
        if not (include / target).exists():
            errors.append(f"{name}: includes {target}, which does not exist")
        elif floor(target) > floor(name):
            errors.append(f"{name} (floor {floor(name)}) includes {target} (floor {floor(target)})")
        elif (room(name), room(target)) in STRANGERS:
            errors.append(f"{name} must not know {target}")
    for header in re.findall(r"^\s*#\s*include <(\w+)>", text, re.M):
        if header in HEAVY and floor(name) < 5 or header in {"iostream", "regex", "ranges"}:
            errors.append(f"{name}: <{header}> is too heavy for floor {floor(name)}")
    errors += platform_conditions.platform_errors(name, floor(name), text, own_names)
    if re.search(r'^\s*#\s*include "', text, re.M):
        errors.append(f"{name}: headers are included as <thrum/...>")

# What the floors above use of a port is what every port is asked for: a member of the class that the
# contract's concepts are about.
OFFERED = {"os": ("system_contract.hpp", ["chosen_system.hpp", "chosen_io.hpp", "chosen_threads.hpp"]),
           "arch": ("processor_contract.hpp", ["chosen_processor.hpp"])}
# Not a port's: what the ABI of exceptions brings is the same for all.
ANYWHERE = {"arch": {"read_counter", "read_counter_in_order", "has_steady_counter", "observe_exception", "entry_function", "exception_observer"}, "os": set()}
for port, (contract, chosen) in OFFERED.items():
    text = "".join((root / "tests/ports" / name).read_text() for name in chosen)
    offered = set(re.findall(r"\w+", re.sub(r"//.*", "", text))) | ANYWHERE[port]
    for path in sorted(include.rglob("*.hpp")):
        name = path.relative_to(include).as_posix()
        if floor(name) <= 1:
            continue
        code = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", path.read_text())
        if port == "os" and floor(name) == 2 and "include <thrum/detail/os/windows/pipe.hpp>" in code:
            continue  # the poller of that system alone: what it waits for besides is its layer's
        for used in sorted(set(re.findall(rf"\b{port}::(\w+)", code)) - offered):
            errors.append(f"{name}: uses {port}::{used}, which no port is asked for; add it to "
                          f"tests/ports/{contract} and to tests/ports/{chosen[0]}")

# A file that only the bodies of one header ask for is a part of that.
for name in graph:
    asked_by = [other for other in graph if name in graph[other]]
    if len(asked_by) == 1 and asked_by[0] in graph[name]:
        graph[name].remove(asked_by[0])

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
    short = house.short_name(name)
    folder = str(pathlib.PurePosixPath(short).parent) + "/"
    if name != "thrum.hpp" and short not in map_text and f"`{folder}`" not in map_text \
            and room(name) != "version.hpp":
        errors.append(f"docs/internals.md: the map does not show {short}")

for error in errors:
    print(f"check_layers: {error}")
if errors:
    sys.exit(1)
print(f"check_layers: {len(graph)} headers, {sum(map(len, graph.values()))} includes, no cycle")
