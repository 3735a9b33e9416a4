#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Reads a trace with a reader that is not the library's and says what does not hold: Chrome's JSON by Python's json, Perfetto's
protobuf by the public definitions, where the packages `perfetto` and `protobuf` of the Python Package Index are installed. (The
trace processor itself is in no registry: that package loads it from a server of its own.)

  trace_check.py FILE [NAME COUNT]...

Slices of one track do not overlap; each goroutine that was made runs, and ends last; each goroutine that was
made ready runs afterwards; nothing runs on an idle processor; the poller counts each goroutine that it makes ready. Each NAME COUNT is a figure of stats() that the trace must have, too, between the marks
`begin` and `end`; all that was made between them has ended.
"""
import collections
import json
import sys


def chrome(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def perfetto(path):
    """The same events as chrome() gives."""
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        print("there is no reader for Perfetto's files")
        sys.exit(0)
    with open(path, "rb") as file:
        packets = perfetto_trace_pb2.Trace.FromString(file.read()).packet
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}

    def process(track):
        name = tracks[track.parent_uuid].name if track.parent_uuid else "goroutines of runtime 0"
        return int(name.split()[-1]) * 2 + name.startswith("threads")

    open_slices, read = {}, []
    for packet in packets:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        track = tracks[event.track_uuid]
        if track.HasField("counter"):
            read.append({"ph": "C", "name": track.name, "args": {"n": event.counter_value}, "pid": process(track), "ts": packet.timestamp / 1000})
            continue
        if not track.name[1:].isdigit():
            continue  # a region
        args = {a.name: a.string_value if a.HasField("string_value") else a.uint_value for a in event.debug_annotations}
        one = {"name": event.name, "args": args, "pid": process(track), "tid": int(track.name[1:]), "ts": packet.timestamp / 1000}
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] = read.append({"ph": "X", **one}) or read[-1]
            for flow in event.terminating_flow_ids:
                args["flow"] = flow
        elif event.type == event.TYPE_SLICE_END:
            last = open_slices.pop(event.track_uuid)
            last["dur"] = packet.timestamp / 1000 - last["ts"]
        else:
            read.append({"ph": "i", **one})
    return read


events = chrome(sys.argv[1]) if sys.argv[1].endswith(".json") else perfetto(sys.argv[1])
wanted = dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
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
    if (wanted and (not own or ends[-1] != "ended")) or "ended" in ends[:-1]:
        errors.append(f"goroutine {each['args']['goroutine']} was made, and its runs ended by {ends}")

begun = {e["args"]["flow"]: e for e in on_ps if "flow" in e["args"]}
for each in inside:
    if each["name"] in ("ready", "go"):
        run = begun.get(each["args"]["flow"])
        if run is None and not wanted:
            continue  # the record ends before
        if run is None or run["args"]["goroutine"] != each["args"]["goroutine"] or run["ts"] < each["ts"]:
            errors.append(f"made ready, and then {run}: {each}")


idle = {}  # since when
for each in sorted(instants, key=lambda e: e["ts"]):
    track = each["pid"], each.get("tid")
    if each["name"] == "idle":
        idle[track] = each["ts"]
    elif each["name"] == "busy" and track in idle:
        since = idle.pop(track)
        errors += [f"{one} while {track} idles from {since} to {each['ts']}" for one in by_track[track]
                   if ns(one["ts"]) + 2 < ns(each["ts"]) and ns(one["ts"]) + ns(one["dur"]) > ns(since) + 2]
    elif each["name"] == "busy":
        errors.append(f"{track} becomes busy that did not idle: {each}")


def sum_of(prefix):
    return sum(int(e["name"].split()[-1]) for e in inside if e["name"].startswith(prefix))


figures = sorted((e for e in events if e["ph"] == "C" and e["ts"] <= end), key=lambda e: e["ts"])
wrong = {e["args"]["labels"] for e in on_ps if "labels" in e["args"]} - {"path=/, a label that is longer=than one event"}
if wrong:
    errors.append(f"nothing has these labels: {wrong}")

found = {
    "created": len(made),
    "finished": sum(e["args"]["ended by"] == "ended" for e in on_ps),
    "switches": sum(begin < e["ts"] <= end and not e["args"].get("from call", False) for e in on_ps),
    "steals": sum_of("steals "),
    "preemptions": sum(e["name"] == "preemption" for e in inside),
    "timers": sum_of("timers: "),
    "hand-offs": sum(e["name"] == "hand-off" for e in inside),
    "procs": next((e["args"]["n"] for e in reversed(figures) if e["name"] == "processors"), 0),
    "idle": next((e["args"]["n"] for e in reversed(figures) if e["name"] == "idle processors"), 0),
    "polled": sum_of("polled: "),
    "labelled": int(any("labels" in e["args"] for e in on_ps)),
}
by_poller = sum(e["name"] == "ready" and e["args"]["how"] == "poller" for e in inside)
if found["polled"] != by_poller:
    errors.append(f"polls have found {found['polled']} goroutines, the poller has made {by_poller} ready")
if wanted and (not found["polled"] or not any(e["name"] == "idle" for e in inside)):
    errors.append("no poll has found a goroutine, or no processor was idle")
for name, count in wanted.items():
    if found[name] != count:
        errors.append(f"{name}: {count} by stats(), {found[name]} in the trace")

print("\n".join(errors[:20]))
print(f"{len(errors)} errors in {len(slices)} slices, {len(made)} goroutines made, "
      f"{sum(e['name'] == 'ready' for e in inside)} made ready")
sys.exit(1 if errors else 0)
