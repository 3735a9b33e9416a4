#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The version has one home, include/thrum/version.hpp; whatever else names it must agree. With --print it
is only written."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def version():
    text = (root / "include/thrum/version.hpp").read_text()
    return ".".join(re.search(rf"#define THRUM_VERSION_{part}\s+(\d+)", text)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def first(pattern, path):
    return re.search(pattern, (root / path).read_text(), re.M)[1]


def main():
    if sys.argv[1:] == ["--print"]:
        print(version())
        return
    others = {
        "CHANGELOG.md": first(r"^## (\d+\.\d+\.\d+)", "CHANGELOG.md"),
        "packaging/debian/changelog": first(r"^thrum \((\d+\.\d+\.\d+)-", "packaging/debian/changelog"),
    }
    for path, said in others.items():
        if said != version():
            print(f"check_version: {path} begins with {said}, version.hpp says {version()}")
            sys.exit(1)
    print(f"check_version: {version()}")


if __name__ == "__main__":
    main()
