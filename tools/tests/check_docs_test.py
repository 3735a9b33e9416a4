#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/check_docs.py must find wrong in pages, and what not."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_docs  # noqa: E402

ANSWERS = "\n".join(f"## {title}\n\n{words}\n" for title, words in (
    ("Cancel an accept", "`operation_canceled`"), ("Run on the main thread", "`on_host`"), ("Qt", "`invokeMethod`"),
    ("Limit how many run at once", "`task_group`"), ("Time out a lock", "`try_lock_for`"),
    ("Who is stuck", "`dump_goroutines`"), ("valgrind", "memcheck and others work: not\nhelgrind")))
PROMISES = ("# Promises and the tests that hold them\n\n## One\n\n- `unit/x_test.cpp`: it holds\n")
README = ("# T\n\n[all](docs/answers.md)\n\n## Promises\n\n| promise | how |\n| --- | --- |\n| one | so |\n\n"
          "<!-- numbers -->\n<!-- end of numbers -->\n")
GOOD = {
    "README.md": README, "CHANGELOG.md": "", "CONTRIBUTING.md": "", "SECURITY.md": "", "packaging/README.md": "",
    "docs/answers.md": ANSWERS, "docs/promises.md": PROMISES,
    "docs/limits.md": "# Limits\n\n## Stacks\n\n**You notice** it.\n\n**Do** this.\n",
    "dev": "./dev check   the rules\n", "tools/x.py": "",
    "tests/unit/x_test.cpp": 'TEST_CASE("it "\n          "holds") {}\n',
}
CASES = {
    "all is well": ({}, None),
    "a link to no file": ({"docs/answers.md": ANSWERS + "[x](nowhere.md)\n"}, "nowhere.md: there is no such file"),
    "a link out of the tree": ({"docs/answers.md": ANSWERS + "[x](../../etc)\n"}, "there is no such file"),
    "a link to no heading": ({"docs/answers.md": ANSWERS + "[x](#qt-6)\n"}, "#qt-6: there is no such heading"),
    "a heading of another page": ({"docs/answers.md": ANSWERS + "[x](../README.md#promises)\n"}, None),
    "a heading with marks": ({"docs/answers.md": ANSWERS + "## `std::mutex`, too\n[x](#stdmutex-too)\n"}, None),
    "a heading in a block of code": ({"docs/answers.md": ANSWERS + "```sh\n## no\n```\n[x](#no)\n"}, "no such heading"),
    "what looks like a link in code": ({"docs/answers.md": ANSWERS + "```cpp\n[x](int y) {}\n```\n`[](z)`\n"}, None),
    "a link to a folder": ({"docs/answers.md": ANSWERS + "[x](../tests)\n"}, "leads to a folder"),
    "a picture that is not there": ({"docs/answers.md": ANSWERS + "![x](x.svg)\n"}, "x.svg: there is no such file"),
    "files that are there": ({"docs/answers.md": ANSWERS + "`tools/x.py`, `tests/unit/`, `tests/unit/x_test`\n"}, None),
    "a file that is named and gone": ({"docs/answers.md": ANSWERS + "`tools/y.py`\n"}, "there is no tools/y.py"),
    "a command": ({"docs/answers.md": ANSWERS + "`./dev check`\n"}, None),
    "a command that there is not": ({"docs/answers.md": ANSWERS + "`./dev fly`\n"}, "./dev has no command fly"),
    "a README that nobody reads": ({"README.md": README + "x\n" * 400}, "lines, which a stranger does not read"),
    "a heading twice": ({"README.md": README + "## Promises\n"}, "the heading 'Promises' stands there twice"),
    "a limit without help": ({"docs/limits.md": "# Limits\n\n## Stacks\n\n**You notice** it.\n"}, "'Stacks' has no paragraph"),
    "an address elsewhere": ({"docs/answers.md": ANSWERS + "[x](https://example.org/x)\n"}, None),
    "an answer that is gone": ({"docs/answers.md": ANSWERS.replace("## Qt\n", "## Q\n")}, "'use it in Qt': no heading 'Qt'"),
    "an answer that says nothing": ({"docs/answers.md": ANSWERS.replace("try_lock_for", "lock")}, "does not speak of"),
    "an answer two clicks away": ({"README.md": README.replace("docs/answers.md", "docs/more.md"),
                                   "docs/more.md": "[x](answers.md)\n"}, None),
    "an answer three clicks away": ({"README.md": README.replace("docs/answers.md", "docs/one.md"), "docs/one.md": "[x](two.md)\n",
                                     "docs/two.md": "[x](answers.md)\n"}, "within two clicks"),
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
                *check_docs.unknown_names(), *check_docs.unanswered(), *check_docs.promises_without_tests()]


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
