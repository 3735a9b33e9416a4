# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/peers.py measured, as text, as Markdown and as drawings: a page for each kind of machine, and one that lists them."""
import html
import math
import re
import statistics

# Each row: its title, and the work of one operation.
ROWS = {
    "spawn_one": ("spawn one, join it", "starts an empty goroutine and waits for it, one at a time"),
    "spawn_1000": ("spawn 1,000", "starts 1,000 empty goroutines, then waits for all; per goroutine"),
    "yield_2": ("yield among 2", "two goroutines yield to each other; per yield"),
    "yield_1000": ("yield among 1,000", "1,000 goroutines yield 200 times each; per yield"),
    "yield_1000000": ("yield among 1,000,000",
                      "a million goroutines yield 8 times each; per yield, with an eighth of a start and an end"),
    "ping_pong": ("ping-pong", "a round trip over two unbuffered channels"),
    "item_unbuffered": ("unbuffered channel", "one producer, one consumer; per item"),
    "item_buffered": ("buffered channel (128)", "one producer, one consumer, a buffer of 128; per item"),
    "four_to_four_unbuffered": ("4 to 4, unbuffered", "four producers and four consumers of one channel; per item"),
    "four_to_four_buffered": ("4 to 4, buffered (128)",
                              "four producers and four consumers of one channel with a buffer of 128; per item"),
    "select_unbuffered": ("select of 2, unbuffered", "two producers with a channel each, one consumer that selects; per item"),
    "select_buffered": ("select of 2, buffered (128)",
                        "two producers with a channel of 128 each, one consumer that selects; per item"),
    "mutex_one": ("mutex, uncontended", "a lock and an unlock"),
    "mutex_100": ("mutex, 100 contenders", "100 goroutines lock, add one and unlock; per addition"),
    "shared_mutex_100": ("shared_mutex, 100 contenders",
                         "100 goroutines lock: every hundredth time to add one, otherwise to read; per lock"),
    "semaphore_100": ("semaphore, 100 for 4", "100 goroutines acquire one of 4 permits, yield and release it; per acquire"),
    "tree": ("tree of spawns", "a binary tree of depth 16: each node is a goroutine that waits for two; per node"),
    "skynet": ("skynet", "a million leaves under nodes of ten children, sums over unbuffered channels; per actor"),
    "fan_in_64": ("fan-in of 64", "64 producers, one consumer, a buffer of 128; per item"),
    "sleepers_1000": ("1,000 sleepers", "1,000 goroutines sleep five times, 1 to 100 ms each; CPU time per wake"),
    "sleepers_100000": ("100,000 sleepers", "100,000 goroutines sleep five times, 1 to 100 ms each; CPU time per wake"),
    "sleep_late_p50": ("how late a sleeper wakes, median", "100 goroutines sleep a hundred times, 1 to 10 ms each"),
    "sleep_late_p99": ("how late a sleeper wakes, p99", "as above; one wake in a hundred is later"),
    "item_late_p99": ("how late an item comes, p99", "each sleeper sends an item to a goroutine that waits for it; one item in a hundred is later"),
    "item_late_p999": ("how late an item comes, p99.9", "as above; one item in a thousand is later"),
    "close_1000000": ("close, 1,000,000 receivers",
                      "closes a channel on which a million goroutines wait, until all have ended; per receiver"),
    "fib": ("fib by spawns", "fib(22): each call spawns one of its two parts and joins it; per spawn"),
    "fork_join_fib": ("fork_join fib", "fib(22) by the library's fork-join; per fork"),
    "udp": ("UDP", "64 bytes to another goroutine of the process and back by UDP; per round trip"),
    "unix": ("Unix socket", "64 bytes to another goroutine and back over a Unix stream socket; per round trip"),
    "pipe": ("pipes", "64 bytes to another goroutine and back over two pipes; per round trip"),
    "file": ("file", "reads 4 KiB at an offset of a cached file; per read"),
    "child": ("child process", "starts /bin/true and waits for it, one at a time"),
    "timer_reset": ("after_func reset", "moves 100,000 timers that are not due, in turn; per reset"),
    "process": ("process", "from the start to the end of a process with an empty main; wall time"),
}
COLOURS = {"thrum": "#111111", "go": "#0077aa", "boost_fiber": "#cc5500", "tokio": "#8833aa", "tbb": "#228844"}
NOTES = """\
- Tasks of tokio and oneTBB have no stack. A function that they call can wait only by `await` (tokio), or not at all (oneTBB).
- tokio runs its multi-thread scheduler, also with one worker. Its channels hold at least one item (the rows of unbuffered channels
  use those) and have one consumer. Its row `close` drops the sender of a watch channel.
- Boost.Fiber schedules round robin on one thread, and by work stealing on two. malloc keeps the memory of freed stacks; otherwise
  each start would map one. It has no select. In skynet a million of its fibers live at once, in 9 GB; a million of its
  stacks do not fit in the other rows.
- oneTBB has neither channels nor a yield.
- taskflow and marl have no row: no registry of this system has them.
- One compiler with one set of options compiles all C++.
- Each run is a process of its own. It does its work once to warm up, and measures the second time. `yield among 1,000,000`, the
  sleepers and `close` run once."""


def number(ns):
    """Three figures that can be compared at a glance."""
    if ns >= 1e6:
        return f"{ns / 1e6:#.3g} ms"
    if ns >= 1e4:
        return f"{ns / 1e3:,.1f} us"
    return f"{ns:,.0f}" if ns >= 100 else f"{ns:.1f}"


def as_number(result):
    """What was cut off took longer than any number, and what failed is no better."""
    return math.inf if isinstance(result, str) else result


def median(results):
    """Of the runs; None where half of them were no numbers."""
    middle = statistics.median(map(as_number, results))
    return None if math.isinf(middle) else middle


def words_of(results):
    """What a run said that was no number, or nothing."""
    return next((result for result in results if isinstance(result, str)), "")


def rows_of(measured, procs):
    """Rows that any peer has on so many processors, in the order of ROWS: results by peer."""
    rows = {}
    for row in ROWS:
        by_peer = {peer: measured["results"][f"{row} {procs} {peer}"] for peer in measured["versions"]
                   if f"{row} {procs} {peer}" in measured["results"]}
        if by_peer:
            rows[row] = by_peer
    return rows


def ratio(by_peer, peer):
    """How many times as long as thrum it takes: above 1 thrum is ahead. None where one has no number."""
    ours, theirs = (median(by_peer[name]) if name in by_peer else None for name in ("thrum", peer))
    return theirs / ours if ours and theirs else None


def behind(measured, titles):
    """A sentence for each row in which a peer's median is below thrum's."""
    sentences = []
    for procs in (1, 2):
        for row, by_peer in rows_of(measured, procs).items():
            for peer in by_peer:
                times = ratio(by_peer, peer) if peer != "thrum" else None
                if times is None or times >= 1:
                    continue
                overlap = max(map(as_number, by_peer[peer])) >= min(map(as_number, by_peer["thrum"]))
                sentences.append(
                    f"{ROWS[row][0]}, {processors(procs)}: {titles[peer]} {number(median(by_peer[peer]))}, "
                    f"thrum {number(median(by_peer['thrum']))} "
                    f"({times:.2f}x{'; the ranges overlap' if overlap else ''})")
            if "thrum" in by_peer and median(by_peer["thrum"]) is None:
                sentences.append(f"{ROWS[row][0]}, {processors(procs)}: thrum {words_of(by_peer['thrum'])}")
    return sentences


def line_of(machine):
    """What a line between two cores costs, where it was measured."""
    return [f"A line of memory takes {machine['line']:.0f} ns from one core to another."] if machine.get("line") else []


def processors(procs):
    return "1 processor" if procs == 1 else f"{procs} processors"


def cell(by_peer, peer, with_range):
    if peer not in by_peer:
        return "-"
    results = by_peer[peer]
    if median(results) is None:
        return words_of(results)
    words = number(median(results))
    if peer != "thrum" and (times := ratio(by_peer, peer)):
        words += f" ({times:.2f}x)"
    if with_range and len(results) > 1:
        words += f" [{number(min(map(as_number, results)))} to "
        words += f"{words_of(results) or number(max(results))}]"
    return words


def text(measured, titles):
    lines = line_of(measured["machine"])
    for procs in (1, 2):
        lines.append(f"{processors(procs)}, ns per operation; (2.00x) takes twice as long as thrum")
        lines.append(f"{'':28}" + "".join(f"{title:>20}" for title in titles.values()))
        for row, by_peer in rows_of(measured, procs).items():
            lines.append(f"{ROWS[row][0]:28}" + "".join(f"{cell(by_peer, peer, False):>20}" for peer in titles))
        lines.append("")
    lines.append("thrum is slower:")
    lines += [f"  {sentence}" for sentence in behind(measured, titles)] or ["  nowhere"]
    lines.append(f"\nOther programs used {measured['others']:.2f} CPUs meanwhile.")
    return "\n".join(lines)


def kind_of(machine):
    """The heading of a machine's page: one page serves all machines of that kind."""
    return f"{machine['cpu']}, {machine['cpus']} CPUs"


def name_of(machine):
    """The file name of a machine's page, without its ending."""
    return re.sub(r"[^a-z0-9]+", "-", kind_of(machine).lower()).strip("-")


def markdown(measured, titles, missing):
    """The page of the machine."""
    machine = measured["machine"]
    lines = [f"# {kind_of(machine)}", "",
             "`./dev bench --peers --write` writes this page. [Performance](../performance.md) says what each row does.", "",
             f"Measured on {measured['date']}: {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}, "
             f"{machine['compiler']}.", *line_of(machine), f"{measured['rounds']} interleaved rounds. Other programs used "
             f"{measured['others']:.2f} of the CPUs meanwhile"
             + (": the machine was not quiet, so only large differences count." if measured["others"] > 0.1 else "."), "",
             ", ".join(f"{title} {measured['versions'][peer]}" for peer, title in titles.items()) + ".", ""]
    lines += [f"{title} has no rows: it was not installed ({install}).\n" for title, install in missing.items()]
    lines += ["## Where thrum is slower", "",
              "Medians in ns per operation, unless a unit is given. 0.91x: that library takes 0.91 times as long as thrum.", ""]
    lines += [f"- {sentence}" for sentence in behind(measured, titles)] or ["Nowhere in this run."]
    for procs in (1, 2):
        lines += ["", f"## {processors(procs)}", "",
                  "Each cell has the median in ns per operation, unless a unit is given, its ratio to thrum (2.00x takes "
                  "twice as long), and the range of the runs. `-`: the library has no such operation.", "",
                  f"![Times relative to thrum]({drawing(machine, procs)})", "",
                  "| work | " + " | ".join(titles.values()) + " |", "| --- |" + " ---: |" * len(titles)]
        for row, by_peer in rows_of(measured, procs).items():
            lines.append(f"| {ROWS[row][0]} | " + " | ".join(cell(by_peer, peer, True) for peer in titles) + " |")
    return "\n".join([*lines, ""])


def index(pages):
    """docs/performance.md, by the texts of the machines' pages by name."""
    lines = ["# Performance, beside others", "",
             "How long an operation takes depends on the machine, most of all on what a line of memory costs from one core to another.",
             "So each kind of machine that was measured has a page:", ""]
    for name, page in sorted(pages.items()):
        title = re.search(r"^# (.+)$", page, re.M)[1]
        measured = re.search(r"^Measured (.+?):", page, re.M)
        line = re.search(r"A line of memory takes .+? ns from one core to another\.", page)
        lines.append(f"- [{title}](performance/{name}.md), measured {measured[1]}." + (f" {line[0]}" if line else ""))
    lines += ["", "## The operations", ""]
    lines += [f"- {title}: {work}." for title, work in ROWS.values()]
    lines += ["", "## How it was measured", "", NOTES, "",
              "`bench/net/run.py` compares servers under load. `./dev counts` counts instructions and locked instructions.", ""]
    return "\n".join(lines)


def drawing(machine, procs):
    return f"{name_of(machine)}-{procs}.svg"


# ---- drawings --------------------------------------------------------------------------------------

LEFT, WIDTH, LINE, TOP = 210, 900, 24, 64


def svg(measured, titles, procs):
    """A line a row on a logarithmic scale: where thrum is 1, a dot is a peer's median, its bar the range."""
    rows = {row: by_peer for row, by_peer in rows_of(measured, procs).items()
            if "thrum" in by_peer and median(by_peer["thrum"]) is not None}
    values = [value / median(by_peer["thrum"]) for by_peer in rows.values() for results in by_peer.values()
              if median(results) is not None for value in results if not isinstance(value, str)]
    low = math.floor(math.log10(min([*values, 0.5])) * 2) / 2
    high = math.ceil(math.log10(max([*values, 2.0])) * 2) / 2
    bottom = TOP + LINE * len(rows)

    def x(times):
        return LEFT + (WIDTH - LEFT - 20) * (math.log10(times) - low) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" '
           'font-family="sans-serif" font-size="12">',
           f"<title>Times relative to thrum, {processors(procs)}</title>",
           f'<rect width="{WIDTH}" height="{bottom + 40}" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="15">Time of an operation relative to thrum, {processors(procs)}</text>']
    at = LEFT
    for peer, title in titles.items():
        out.append(f'<circle cx="{at}" cy="40" r="5" fill="{COLOURS[peer]}"/>'
                   f'<text x="{at + 9}" y="44">{html.escape(title)}</text>')
        at += 110
    for times in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000):
        if low <= math.log10(times) <= high:
            strong = ' stroke-width="2"' if times == 1 else ""
            out.append(f'<line x1="{x(times):.1f}" x2="{x(times):.1f}" y1="{TOP - 8}" y2="{bottom}" '
                       f'stroke="#bbbbbb"{strong}/>'
                       f'<text x="{x(times):.1f}" y="{bottom + 16}" text-anchor="middle">{times:g}</text>')
    out.append(f'<text x="{x(1) - 8:.1f}" y="{bottom + 32}" text-anchor="end">faster than thrum</text>'
               f'<text x="{x(1) + 8:.1f}" y="{bottom + 32}">slower than thrum</text>')
    for i, (row, by_peer) in enumerate(rows.items()):
        y = TOP + LINE * i + LINE / 2
        ours = median(by_peer["thrum"])
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{html.escape(ROWS[row][0])}</text>')
        for peer, results in by_peer.items():
            if median(results) is None:
                continue
            numbers = [result for result in results if not isinstance(result, str)]
            out.append(f'<line x1="{x(min(numbers) / ours):.1f}" x2="{x(max(numbers) / ours):.1f}" y1="{y}" '
                       f'y2="{y}" stroke="{COLOURS[peer]}" stroke-width="3" stroke-opacity="0.4"/>'
                       f'<circle cx="{x(median(results) / ours):.1f}" cy="{y}" r="5" fill="{COLOURS[peer]}"/>')
    return "\n".join([*out, "</svg>", ""])


def files(measured, titles, missing, others):
    """Contents by path, for --write. `others`: the texts of all pages that exist, by name."""
    machine = measured["machine"]
    pages = dict(others)
    pages[name_of(machine)] = markdown(measured, titles, missing)
    written = {f"docs/performance/{name_of(machine)}.md": pages[name_of(machine)], "docs/performance.md": index(pages)}
    for procs in (1, 2):
        written[f"docs/performance/{drawing(machine, procs)}"] = svg(measured, titles, procs)
    return written
