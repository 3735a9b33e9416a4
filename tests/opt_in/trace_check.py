#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Reads a trace in Chrome's JSON with Python's reader and says what does not hold.

  trace_check.py FILE [NAME COUNT]...

Slices of one track do not overlap; each goroutine that was made runs, and ends once and last; each goroutine that was
made ready runs afterwards. Each NAME COUNT is a figure of stats() that the trace must have, too, between the marks
`begin` and `end`.
"""
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
wanted = dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
events = trace["traceEvents"]
errors = []


def ns(microseconds):
    return round(microseconds * 1000)


slices = [e for e in events if e["ph"] == "X"]
by_track = collections.defaultdict(list)
for each in slices:
    by_track[each["pid"], each["tid"]].append(each)
for track, own in by_track.items():
    own.sort(key=lambda e: (ns(e["ts"]), ns(e["dur"])))
    for one, next_one in zip(own, own[1:]):
        if ns(one["ts"]) + ns(one["dur"]) > ns(next_one["ts"]) + 2:  # both are rounded
            errors.append(f"overlap on {track}: {one} and {next_one}")

on_ps = [e for e in slices if e["pid"] % 2 == 0]
if len(on_ps) * 2 != len(slices):
    errors.append("threads and processors have different slices")

instants = [e for e in events if e["ph"] == "i"]
times = {e["name"]: e["ts"] for e in instants if e["name"] in ("begin", "end")}
begin, end = times.get("begin", 0), times.get("end", float("inf"))
inside = [e for e in instants if begin < e["ts"] <= end]

runs = collections.defaultdict(list)
for each in on_ps:
    runs[each["pid"], each["args"]["goroutine"]].append(each)
made = [e for e in inside if e["name"] == "go"]
for each in made:
    own = sorted(runs[each["pid"] // 2 * 2, each["args"]["goroutine"]], key=lambda e: e["ts"])
    ends = [e["args"]["ended by"] for e in own]
    if not own or ends.count("ended") != 1 or ends[-1] != "ended":
        errors.append(f"goroutine {each['args']['goroutine']} was made, and its runs ended by {ends}")

begun = {e["args"]["flow"]: e for e in on_ps if "flow" in e["args"]}
for each in inside:
    if each["name"] in ("ready", "go"):
        run = begun.get(each["args"]["flow"])
        if run is None or run["args"]["goroutine"] != each["args"]["goroutine"] or run["ts"] < each["ts"]:
            errors.append(f"made ready, and then {run}: {each}")


def sum_of(prefix):
    return sum(int(e["name"].split()[-1]) for e in inside if e["name"].startswith(prefix))


found = {
    "created": len(made),
    "finished": sum(e["args"]["ended by"] == "ended" for e in on_ps),
    "switches": sum(begin < e["ts"] <= end and not e["args"].get("from call", False) for e in on_ps),
    "steals": sum_of("steals "),
    "preemptions": sum(e["name"] == "preemption" for e in inside),
    "timers": sum_of("timers: "),
    "hand-offs": sum(e["name"] == "hand-off" for e in inside),
    "events": int(trace["otherData"]["events"]),
    "lost": int(trace["otherData"]["lost"]),
}
for name, count in wanted.items():
    if found[name] != count:
        errors.append(f"{name}: {count} by stats(), {found[name]} in the trace")

print("\n".join(errors[:20]))
print(f"{len(errors)} errors in {len(slices)} slices, {len(made)} goroutines made, "
      f"{sum(e['name'] == 'ready' for e in inside)} made ready")
sys.exit(1 if errors else 0)
