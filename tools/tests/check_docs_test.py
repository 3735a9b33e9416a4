#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/check_docs.py must find wrong in pages, and what not."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_docs  # noqa: E402

PAGE = "## Qt\n\n"
PROMISES = ("# Promises and the tests that hold them\n\n## One\n\n- `unit/x_test.cpp`: it holds\n")
README = ("# T\n\n[page](docs/page.md)\n\n## Promises\n\n| promise | how |\n| --- | --- |\n| one | so |\n\n"
          "<!-- numbers -->\n<!-- end of numbers -->\n")
GOOD = {
    "README.md": README, "CHANGELOG.md": "", "CONTRIBUTING.md": "", "SECURITY.md": "", "packaging/README.md": "",
    "docs/page.md": PAGE, "docs/promises.md": PROMISES,
    "docs/limits.md": "# Limits\n\n## Stacks\n\n**You notice** it.\n\n**Do** this.\n",
    "docs/walks.md": "1. `sched/x.hpp` `f`: first\n2. `x.hpp` `g`: then\n",
    "include/thrum/detail/sched/x.hpp": "void f();", "include/thrum/x.hpp": "void g();",
    "dev": "./dev check   the rules\n", "tools/x.py": "",
    "tests/unit/x_test.cpp": 'TEST_CASE("it "\n          "holds") {}\n',
}
CASES = {
    "all is well": ({}, None),
    "a link to no file": ({"docs/page.md": PAGE + "[x](nowhere.md)\n"}, "nowhere.md: there is no such file"),
    "a link out of the tree": ({"docs/page.md": PAGE + "[x](../../etc)\n"}, "there is no such file"),
    "a link to no heading": ({"docs/page.md": PAGE + "[x](#qt-6)\n"}, "#qt-6: there is no such heading"),
    "a heading of another page": ({"docs/page.md": PAGE + "[x](../README.md#promises)\n"}, None),
    "a heading with marks": ({"docs/page.md": PAGE + "## `std::mutex`, too\n[x](#stdmutex-too)\n"}, None),
    "a heading in a block of code": ({"docs/page.md": PAGE + "```sh\n## no\n```\n[x](#no)\n"}, "no such heading"),
    "what looks like a link in code": ({"docs/page.md": PAGE + "```cpp\n[x](int y) {}\n```\n`[](z)`\n"}, None),
    "a link to a folder": ({"docs/page.md": PAGE + "[x](../tests)\n"}, "leads to a folder"),
    "a picture that is not there": ({"docs/page.md": PAGE + "![x](x.svg)\n"}, "x.svg: there is no such file"),
    "files that are there": ({"docs/page.md": PAGE + "`tools/x.py`, `tests/unit/`, `tests/unit/x_test`\n"}, None),
    "a file that is named and gone": ({"docs/page.md": PAGE + "`tools/y.py`\n"}, "there is no tools/y.py"),
    "a command": ({"docs/page.md": PAGE + "`./dev check`\n"}, None),
    "a command that there is not": ({"docs/page.md": PAGE + "`./dev fly`\n"}, "./dev has no command fly"),
    "a README that nobody reads": ({"README.md": README + "x\n" * 400}, "lines, which a stranger does not read"),
    "a step whose function is gone": ({"include/thrum/x.hpp": "void gg();"}, "docs/walks.md: x.hpp has no g()"),
    "a step whose file is gone": ({"docs/walks.md": "1. `y.hpp` `f`: first\n"}, "docs/walks.md: y.hpp has no f()"),
    "a limit without help": ({"docs/limits.md": "# Limits\n\n## Stacks\n\n**You notice** it.\n"}, "'Stacks' has no paragraph"),
    "an address elsewhere": ({"docs/page.md": PAGE + "[x](https://example.org/x)\n"}, None),
    "a promise without a test": ({"docs/promises.md": PROMISES.replace("- `", "- x `")}, "'One' names no test"),
    "a test that is gone": ({"docs/promises.md": PROMISES.replace("it holds", "it held")}, "has no test 'it held'"),
    "a promise that has no section": ({"README.md": README.replace("| one | so |\n", "| one | so |\n| two | so |\n")},
                                      "README.md promises 2 things, docs/promises.md has tests of 1"),
}


def judge(files):
    with tempfile.TemporaryDirectory() as folder:
        check_docs.root = pathlib.Path(folder).resolve()
        for name, text in {**GOOD, **files}.items():
            path = check_docs.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [*check_docs.dead_links(), *check_docs.unreadable(), *check_docs.limits_without_help(),
                *check_docs.unknown_names(), *check_docs.lost_steps(), *check_docs.promises_without_tests()]


def main():
    failed = 0
    for name, (files, said) in CASES.items():
        errors = judge(files)
        if errors if said is None else not any(said in error for error in errors):
            print(f"check_docs_test: {name}: {said!r} expected, found {errors}")
            failed = 1
    if not failed:
        print(f"check_docs_test: {len(CASES)} trees, each judged as it must be")
    sys.exit(failed)


main()
