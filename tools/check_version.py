#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The version has one home, include/thrum/version.hpp; whatever else names it must agree."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
text = (root / "include/thrum/version.hpp").read_text()
version = ".".join(
    re.search(rf"#define THRUM_VERSION_{part}\s+(\d+)", text).group(1)
    for part in ("MAJOR", "MINOR", "PATCH")
)
newest = re.search(r"^## (\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(), re.M).group(1)
if newest != version:
    print(f"check_version: CHANGELOG.md begins with {newest}, version.hpp says {version}")
    sys.exit(1)
print(f"check_version: {version}")
