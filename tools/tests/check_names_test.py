#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/check_names.py takes for the opening of the scheduler's namespace, and what reports of callers must know."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_names  # noqa: E402

CASES = {
    "a class is named": ("namespace sched {\nclass monitor;\n}\n", False),
    "it is used": ("namespace chan_detail {\n\nusing namespace sched;\n", False),
    "another one": ("namespace sched_x {\nint x;\n", False),
    "it is opened": ("namespace thrum { inline namespace THRUM_ABI { namespace sched {\n\nint x;\n", True),
    "it is opened with its path": ("namespace thrum::sched {\nint x;\n", True),
    "a class is named, and more": ("namespace sched {\nclass monitor;\nint x;\n}\n", True),
    "a class is defined": ("namespace sched {\nclass monitor {};\n}\n", True),
}


def main():
    failed = 0
    for name, (text, opens) in CASES.items():
        if check_names.opens_sched(text) != opens:
            print(f"check_names_test: {name}: {'not ' * opens}taken for an opening of sched")
            failed = 1
    known = '"::sched::" "5sched" "::chan_detail::" "11chan_detail"'
    for text, errors in ((known, 0), (known.replace("::chan_", "::can_"), 1), (known.replace("11chan", "12chan"), 1)):
        if len(check_names.backtrace_errors(text, {"sched", "chan_detail", "io_detail"})) != errors:
            print(f"check_names_test: {errors} unknown to is_internal expected")
            failed = 1
    if not failed:
        print(f"check_names_test: {len(CASES)} texts, each judged as it must be")
    sys.exit(failed)


if __name__ == "__main__":
    main()
