#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Which namespaces tools/check_names.py must let a file open, and which not."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_names  # noqa: E402

HEAD = "namespace thrum { inline namespace THRUM_ABI { "
CASES = {
    "sched in its own room": ("sched/run/x.hpp", HEAD + "namespace sched {\n", None),
    "the room's own": ("chan/core.hpp", HEAD + "\nnamespace chan_detail {\n", None),
    "a file and the folder of its name": ("select.hpp", HEAD + "namespace select_detail {\n", None),
    "deadlines": ("detail/start/deadline.hpp", HEAD + "namespace time_detail {\n", None),
    "public namespaces": ("testing/bubble.hpp", HEAD + "namespace testing {\n", None),
    "using sched": ("chan/core.hpp", "namespace chan_detail {\n\nusing namespace sched;\n", None),
    "a class of sched is named": ("runtime.hpp", "namespace sched {\nclass monitor;\n}\n", None),
    "sched from above": ("chan/core.hpp", HEAD + "namespace sched {\n\nint x;\n", "opens namespace sched"),
    "a class of sched is named, and more": ("runtime.hpp", "namespace sched {\nclass monitor;\nint x;\n}\n",
                                            "opens namespace sched"),
    "a class of sched is defined": ("runtime.hpp", "namespace sched {\nclass monitor {};\n}\n",
                                    "opens namespace sched"),
    "sched with its path": ("chan/core.hpp", "namespace thrum::sched {\nint x;\n", "opens namespace sched"),
    "another room's": ("select/cases.hpp", HEAD + "namespace chan_detail {\n", "stands in select_detail"),
    "a room's from sched": ("sched/run/x.hpp", HEAD + "namespace go_detail {\n", "stands in sched"),
    "a second one of a room": ("chan/core.hpp", HEAD + "namespace core_detail {\n", "stands in chan_detail"),
    "a room beside a public namespace": ("net/dial.hpp", HEAD + "namespace net_detail {\n", None),
    "one of a room that has none": ("debug/dump.hpp", HEAD + "namespace go_detail {\n", "wants a namespace"),
}


def main():
    failed = 0
    for name, (file, text, said) in CASES.items():
        errors = check_names.namespace_errors(pathlib.PurePosixPath("thrum") / file, text)
        if errors if said is None else not any(said in error for error in errors):
            print(f"check_names_test: {name}: {said!r} expected, found {errors}")
            failed = 1
    known = "".join(f'"::{name}::" "{len(name)}{name}"' for name in ("sched", *check_names.PRIVATE))
    for text, errors in ((known, 0), (known.replace("::chan_", "::can_"), 1), (known.replace("11chan", "12chan"), 1)):
        if len(check_names.backtrace_errors(text)) != errors:
            print(f"check_names_test: {errors} unknown to is_internal expected")
            failed = 1
    if not failed:
        print(f"check_names_test: {len(CASES)} files, each judged as it must be")
    sys.exit(failed)


if __name__ == "__main__":
    main()
