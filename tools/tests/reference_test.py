#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/reference.py must find in the headers, and what it must leave out."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import reference  # noqa: E402

HEADS = {  # a declaration as it is written: as it is shown
    "int f(int a) { return a; }": "int f(int a)",
    "explicit x(int a) : a_(a), b_{} {}": "explicit x(int a)",
    "THRUM_OUT_OF_LINE void f(int a = 1);": "void f(int a = 1)",
    "[[noreturn]] [[gnu::cold]] void f() noexcept;": "[[noreturn]] void f() noexcept",
    '[[nodiscard("a reason; with (all)")]] bool f() const;': "[[nodiscard]] bool f() const",
    "template <class T>\nvoid f(T&&)\n  requires c<T> {": "template <class T> void f(T&&) requires c<T>",
    "class x : public x_detail::y<x> {": "class x",
    "class x : public std::exception {": "class x : public std::exception",
    "enum class e : char { a, b }": "enum class e : char",
    "std::size_t limit = 5;": "std::size_t limit = 5",
    "auto f() -> std::pair<int, int>;  // why": "auto f() -> std::pair<int, int>",
    "std::size_t most = std::size_t{64} * 1024;": "std::size_t most = std::size_t{64} * 1024",
    "template <x_detail::y F, class G = x_detail::z>\nvoid f(F&& f, G g) {": "template <class F, class G = default_type> void f(F&& f, G g)",
    "template <class... Args>\n  requires(x_detail::y<Args>&&...)\nvoid f(Args&&... args) {": "template <class... Args> void f(Args&&... args)",
}
SYNOPSIS = {  # a member: its line in the synopsis
    "template <class T, stop_condition Stop> [[nodiscard]] bool f(T, const Stop& stop)": "bool f(T, const Stop& stop);",
    "template <class F> requires(!std::is_same_v<F, x<int>>) explicit x(F f)": "explicit x(F f);",
    "struct x {\n  int a;\n}": "struct x;",
}
MEMBERS = {  # name: (what its members' declarations hold, what none does)
    "chan": (["void send(T value) const", "received_value<T> recv() const", "explicit chan(std::size_t capacity)"],
             ["adopt_reference", "core()", "operator="]),
    "mutex": (["try_lock_for", "void unlock()"], ["mutex(const mutex&)"]),
    "options": (["unsigned procs = 0", "max_threads", "from_environment"], []),
    "recv_status": (["ok", "closed", "timeout"], []),
    "io::file": (["read", "close"], []),
    "net::server": (["stop_for"], ["class visit", "accept_all"]),
}
NAMES = ["goroutine_id", "this_goroutine::yield", "testing::bubble", "select", "run", "usage_error", "io::readable_stream"]
FOREIGN = ["machine", "processor", "scheduler", "task", "kept_result", "result_slot"]


def main():
    failed = []
    for written, shown in HEADS.items():
        if reference.head(written) != shown:
            failed.append(f"{written!r} is shown as {reference.head(written)!r}")
    for member, line in SYNOPSIS.items():
        if reference.short(member) != line:
            failed.append(f"{member!r} is {reference.short(member)!r} in the synopsis")
    found = reference.Reference()
    examples = reference.Examples()
    failed += [f"{name} has no example: write one in docs/examples.md" for name, entries in found.entries.items()
               if reference.is_class(entries[0][0][0]) and not examples.of(name)
               and not reference.NO_EXAMPLE.fullmatch(name.split("::")[-1])]
    for name, (has, has_not) in MEMBERS.items():
        declared = [text for _, _, members in found.entries[name] for declarations, _ in members for text in declarations]
        failed += [f"{name} has no {each}" for each in has if not any(each in text for text in declared)]
        failed += [f"{name} shows {each}" for each in has_not if any(each in text for text in declared)]
        failed += [f"{name}: {declarations[0]} has no comment" for _, _, members in found.entries[name]
                   for declarations, said in members if not said]
    failed += [f"there is no {each}" for each in NAMES if each not in found.entries]
    failed += [f"{each} is private" for each in FOREIGN if each in found.entries]
    failed += [f"{name} has no comment" for name, entries in found.entries.items() if not any(said for _, said, _ in entries)]
    for name, entries in found.entries.items():
        text = "\n".join(reference.entry(name, entries, examples, found.labels)).replace("\\_", "_").replace("&lt;", "<")
        failed += [f"{name} refers to {each[0]}, which a reader of the site does not have"
                   for each in re.finditer(r"(?<![\w/<-])[\w/]+\.(?:hpp|cpp|py)\b|\btests/\w+|<thrum/detail[^>]*>|\b\w+_detail::", text)]
    prose = reference.prose(["chan<T> and *this*, `a_b<T>`", "", "  code<T>", "after"])
    if prose != "chan&lt;T&gt; and \\*this\\*, `a_b<T>`\n\n```text\n  code<T>\n```\n\nafter":
        failed.append(f"prose: {prose!r}")
    for each in failed:
        print(f"reference_test: {each}")
    if not failed:
        print(f"reference_test: {len(HEADS)} declarations and {len(found.entries)} names, each as it must be")
    sys.exit(bool(failed))


main()
