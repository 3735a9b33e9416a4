#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tests/support/own_wine.sh does where wine does not fill its folder, by a wine that is none."""
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/support/own_wine.sh"
WINE = """#!/bin/sh
mkdir "$WINEPREFIX"
echo "$WINEPREFIX" >>"$FAKES/folders"
if [ "$(wc -l <"$FAKES/folders")" -le "$FAILURES" ]; then echo "no kernel32.dll" >&2; exit 53; fi
"""
SERVER = """#!/bin/sh
echo "$WINEPREFIX" >>"$FAKES/stopped"
exit 1
"""


def run(failures):
    """With a wine that fails so often: status, what was said, folders that were tried, servers stopped."""
    with tempfile.TemporaryDirectory() as fakes:
        for name, text in (("wine64", WINE), ("wineserver", SERVER)):
            program = pathlib.Path(fakes, name)
            program.write_text(text)
            program.chmod(0o755)
        environment = os.environ | {"FAKES": fakes, "FAILURES": str(failures),
                                    "PATH": f"{fakes}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-euc", f'. "{SCRIPT}"; use_own_wine; echo "in $WINEPREFIX"'],
                              env=environment, capture_output=True, text=True, check=False)
        tried = pathlib.Path(fakes, "folders").read_text().split()
        stopped = pathlib.Path(fakes, "stopped").read_text().split()
        return done.returncode, done.stdout + done.stderr, tried, stopped


def failures():
    for fails in range(4):
        status, said, tried, stopped = run(fails)
        if len(tried) != min(fails + 1, 3) or len(set(tried)) != len(tried):
            yield f"{fails} failures: it tried {tried}"
        if set(stopped) != set(tried):
            yield f"{fails} failures: it tried {tried} and stopped the servers of {stopped}"
        if any(pathlib.Path(folder).parent.exists() for folder in tried):
            yield f"{fails} failures: folders are left"
        if fails < 3 and (status, said) != (0, f"in {tried[-1]}\n"):
            yield f"{fails} failures: exit {status}, said {said!r}"
        if fails == 3 and (status != 1 or "by hand" not in said or "no kernel32.dll" not in said):
            yield f"{fails} failures: exit {status}, said {said!r}"


def main():
    failed = list(failures())
    for failure in failed:
        print(f"own_wine_test: {failure}")
    if not failed:
        print("own_wine_test: a folder that wine does not fill is tried again, and not for ever")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
