#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/check_invariants.py must refuse, and what it must not."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_invariants  # noqa: E402

LIST = "// Invariants\n//   AA1  it holds.\n// The two sides:  S1 this   S2 that\n\n"
CASES = {
    "asserted": ({"include/a.hpp": LIST + "THRUM_ASSERT(AA1, x);\n"}, None),
    "cited at the code": ({"include/a.hpp": LIST + "f();  // AA1: here\n"}, None),
    "cited by a test": ({"include/a.hpp": LIST, "tests/a_test.cpp": "// AA1\n"}, None),
    "cited by a static_assert": ({"include/a.hpp": LIST + 'static_assert(x, "AA1: it holds");\n'}, None),
    "a list of one": ({"include/a.hpp": "// NT1: it holds\n\nf();  // NT1\n"}, None),
    "what holds, in words": ({"include/a.hpp": "THRUM_ASSERT(list_is_empty, x);\n"}, None),
    "a step": ({"include/a.hpp": LIST + "f();  // S2; AA1\n"}, None),
    "a step of another header": ({"include/a.hpp": LIST + "// AA1\n", "include/b.hpp": "f();  // S1\n"}, None),
    "a step of a header that is named": ({"include/a.hpp": LIST + "// AA1\n", "include/b.hpp": "// S1 one\n\n",
                                          "include/c.hpp": "f();  // S1 of a.hpp\n"}, None),
    "cited nowhere": ({"include/a.hpp": LIST}, "AA1 is cited nowhere"),
    "cited in its own head only": ({"include/a.hpp": "//   AA1  it holds.\n// By AA1 all is well.\n\n"},
                                   "AA1 is cited nowhere"),
    "asserted, but not listed": ({"include/a.hpp": "THRUM_ASSERT(BB1, x);\n"}, "BB1 is listed in no header"),
    "cited by a test, but not listed": ({"tests/a_test.cpp": "// BB1\n"}, "BB1 is listed in no header"),
    "listed in the midst of a file": ({"include/a.hpp": "int a;\n//   BB1  it holds.\n"},
                                      "BB1 is listed in no header"),
    "listed twice": ({"include/a.hpp": LIST + "// AA1\n", "include/b.hpp": LIST}, "is listed in"),
    "a name that says nothing": ({"include/a.hpp": "THRUM_ASSERT(M1, x);\n"}, "names no invariant"),
    "a step that nobody tells": ({"include/a.hpp": LIST + "f();  // S3; AA1\n"}, "no header tells the step S3"),
    "a step of two other headers": ({"include/a.hpp": LIST + "// AA1\n", "include/b.hpp": "// S1 one\n\n",
                                     "include/c.hpp": "f();  // S1\n"}, "several headers tell a step S1"),
}


def main():
    failed = 0
    for name, (files, said) in CASES.items():
        errors = check_invariants.Tree(files).errors
        if errors if said is None else not any(said in error for error in errors):
            print(f"check_invariants_test: {name}: {said!r} expected, found {errors}")
            failed = 1
    if not failed:
        print(f"check_invariants_test: {len(CASES)} trees, each judged as it must be")
    sys.exit(failed)


if __name__ == "__main__":
    main()
