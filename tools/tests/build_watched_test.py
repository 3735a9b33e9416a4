#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/build_watched.sh shows of a build and leaves behind, with a ninja and a sleep that are none."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/build_watched.sh"
# Each sleep lets the build take one step, and half a minute pass if LATE is set: no real time is looked at.
SHELL = """
. "$SCRIPT"
sleeps=0
unset SECONDS  # from now on it is a variable as any other
SECONDS=0
sleep() {
  sleeps=$((sleeps + 1))
  [ -z "$LATE" ] || SECONDS=$((SECONDS + 30))
  : >"$FAKES/sleep.$sleeps"
  until [ -e "$FAKES/step.$sleeps" ] || ! kill -0 $ninja 2>/dev/null; do command sleep 0.01; done
}
build_watched "a folder" some target
"""
NINJA = """#!/bin/bash
echo "$*" >"$FAKES/arguments"
echo $$ >"$FAKES/pid"
echo "ninja: Entering directory"
for n in 1 2 3 4; do
  until [ -e "$FAKES/sleep.$n" ]; do sleep 0.01; done
  case $n$END in
    2fails) echo "FAILED: b.o"; echo "b.cpp:1: error: no"; echo "ninja: build stopped"; exit 1 ;;
    4hangs) exec sleep 1000 ;;
  esac
  echo "@$n/4@ Building $n"
  : >"$FAKES/step.$n"
done
"""


def run(terminal=False, stopped_by=None, **variables):
    """Status, what was said, the words that ninja got, and the files that are left."""
    with tempfile.TemporaryDirectory(prefix="the fakes ") as fakes:
        program = pathlib.Path(fakes, "ninja")
        program.write_text(NINJA)
        program.chmod(0o755)
        left = pathlib.Path(fakes, "left")
        left.mkdir()
        environment = os.environ | {"FAKES": fakes, "SCRIPT": str(SCRIPT), "TMPDIR": str(left), "END": "",
                                    "LATE": "", "PATH": f"{fakes}:{os.environ['PATH']}"} | variables
        reader, writer = pty.openpty() if terminal else os.pipe()
        with subprocess.Popen(["bash", "-euo", "pipefail", "-c", SHELL], stdin=subprocess.DEVNULL, stderr=writer,
                              env=environment, start_new_session=True) as shell:
            os.close(writer)
            said = b""
            while True:
                try:
                    piece = os.read(reader, 4096)
                except OSError:  # of a terminal that nobody has any more
                    piece = b""
                if not piece:
                    break
                said += piece
                if stopped_by and b"3 of 4" in said:
                    os.killpg(shell.pid, stopped_by)
                    stopped_by = None
        os.close(reader)
        if pathlib.Path("/proc", pathlib.Path(fakes, "pid").read_text().strip()).exists():
            raise AssertionError("its ninja is left")
        return (shell.returncode, said.decode(), pathlib.Path(fakes, "arguments").read_text().strip(),
                [path.name for path in left.iterdir()])


def failures():
    status, said, arguments, left = run()
    if (status, said, arguments, left) != (0, "", "-C a folder some target", []):
        yield f"a short build: exit {status}, {arguments!r}, said {said!r}, left {left}"
    status, said, _, left = run(LATE="1")
    if status != 0 or "building: 1 of 4 steps, 30 s\n" not in said or "3 of 4 steps, 90 s\n" not in said or left:
        yield f"a long build: exit {status}, said {said!r}, left {left}"
    status, said, _, left = run(terminal=True)
    if status != 0 or "\r[#######" not in said or "3 of 4 steps" not in said or "Building" in said or left:
        yield f"on a terminal: exit {status}, said {said!r}, left {left}"
    status, said, _, left = run(END="fails")
    if status != 1 or "b.cpp:1: error: no\ndev: building some target failed" not in said or "@1/4@" in said or left:
        yield f"a build that fails: exit {status}, said {said!r}, left {left}"
    for number in (signal.SIGINT, signal.SIGTERM):
        status, said, _, left = run(stopped_by=number, END="hangs", LATE="1")
        if status == 0 or left:
            yield f"a build that is stopped by {number!r}: exit {status}, said {said!r}, left {left}"


def main():
    # A shell's background jobs ignore the interrupt, and what they start cannot trap it then.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failed = list(failures())
    for failure in failed:
        print(f"build_watched_test: {failure}")
    if not failed:
        print("build_watched_test: how far a build is, what failed, and nothing left")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
