#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""A tree without .git works in a folder whose name has spaces."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("dev", "include", "tools", "tests/misuse", "tests/support/own_wine.sh")
# An emulator's file has a word a line.
EMULATOR = """mkdir -p build/x/tests && printf 'some folder/wine.sh\\n-L\\n' >build/x/tests/emulator
. tools/suites.sh && find_emulator x && [ "${emulator[0]}${#emulator[@]}" = "some folder/wine.sh2" ]"""
COMMANDS = (["./dev", "help"], ["./dev", "format"], ["bash", "-c", EMULATOR], ["python3", "tools/check_misuse.py"])


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="a copy of ") as folder:
        for part in PARTS:
            copy = pathlib.Path(folder, part)
            copy.parent.mkdir(exist_ok=True)
            if (root / part).is_dir():
                shutil.copytree(root / part, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(root / part, copy)
        formatted = pathlib.Path(folder, "formatted")
        formatter = pathlib.Path(folder, "fakes/clang-format")
        formatter.parent.mkdir()
        formatter.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{formatted}'\n")
        formatter.chmod(0o755)
        environment = {**os.environ, "PATH": f"{formatter.parent}:{os.environ['PATH']}"}
        for command in COMMANDS:
            done = subprocess.run(command, check=False, cwd=folder, env=environment, text=True, capture_output=True)
            if done.returncode != 0:
                print(f"spaces_test: {' '.join(command)} fails in '{folder}': {done.stdout}{done.stderr}")
                failed = 1
        if not formatted.exists() or "include/thrum/go.hpp" not in formatted.read_text().split():
            print("spaces_test: ./dev format leaves out the headers of a tree without .git")
            failed = 1
    if not failed:
        print(f"spaces_test: {len(COMMANDS)} commands work in a folder with spaces")
    sys.exit(failed)


main()
