#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/install_tools.sh does and says, with package managers, a sudo and a sleep that are none."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/install_tools.sh"
# All that the script may call beside its fakes: what is missing here is missing there.
TOOLS = ("bash", "env", "awk", "sed", "grep", "head", "tail", "cat", "chmod", "wc")
SHELL = """
say() { printf 'say: %s\\n' "$*" >&2; }
die() { printf 'dev: %s\\n' "$*" >&2; exit 1; }
. "$SCRIPT"
need $WANTED
echo "has them"
"""
# Each call takes the next of the answers: "ok", or a text that it fails with; the last one stays.
MANAGER = """#!/bin/bash
echo "${0##*/} $*" >>"$FAKES/calls"
command=${1/#-S/install}
n=$(($(cat "$FAKES/$command.count" 2>/dev/null || echo 0) + 1))
echo $n >"$FAKES/$command.count"
while [ $n -gt 1 ] && [ ! -e "$FAKES/$command.$n" ]; do n=$((n - 1)); done
answer=$(cat "$FAKES/$command.$n")
if [ "$answer" != ok ]; then echo "Reading package lists..."; echo "$answer" >&2; exit 100; fi
[ $command != install ] || for tool in $WANTED; do echo '#!/bin/bash' >"$FAKES/$tool"; chmod +x "$FAKES/$tool"; done
"""
# A lists' failure is no failure of update.
WARNS = """#!/bin/bash
echo "apt-get $*" >>"$FAKES/calls"
case $1 in
  update) echo "W: Failed to fetch http://a.org/InRelease  Temporary failure resolving 'a.org'" ;;
  install) echo "E: Unable to locate package wrk"; exit 100 ;;
esac
"""
SUDO = """#!/bin/bash
echo "sudo $*" >>"$FAKES/calls"
[ "$1" != -n ] || exit $NEEDS_PASSWORD
[ "$1" != -v ] || exit 1
exec "$@"
"""
FRONTEND = ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1234 (unattended-upgr)\n"
            "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?")
LISTS = ("E: Could not get lock /var/lib/apt/lists/lock. It is held by process 77 (apt-get)\n"
         "E: Unable to lock directory /var/lib/apt/lists/")
OLD = "E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily unavailable)"
DENIED = ("E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)\n"
          "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?")
# What the package managers of other systems say of a lock that another program holds, and of what they may not do.
OTHERS = {
    "dnf": ("Running transaction\nTransaction failed: Failed to obtain rpm transaction lock. Another transaction is in progress.",
            "error: can't create transaction lock on /usr/lib/sysimage/rpm/.rpm.lock (Permission denied)"),
    "pacman": ("error: failed to init transaction (unable to lock database)\nerror: could not lock database: File exists\n"
               "  if you're sure a package manager is not already\n  running, you can remove /var/lib/pacman/db.lck",
               "error: failed to init transaction (unable to lock database)\nerror: could not lock database: Permission denied"),
    "pkg": ("pkg: Cannot get an advisory lock on a database, it is locked by another process", "pkg: Insufficient privileges"),
    "brew": ("Error: A `brew install wrk` process has already locked /opt/homebrew/var/homebrew/locks/wrk.formula.lock.\n"
             "Please wait for it to finish or terminate it to continue.", "Error: The following directories are not writable"),
}
BY_HAND = "apt-get update && apt-get install -y wrk curl"
SUDO_BY_HAND = "sudo apt-get update && sudo apt-get install -y wrk curl"


def run(update=("ok",), install=("ok",), user=0, sudo=None, apt=MANAGER, manager="apt-get", wanted="wrk curl"):
    """need, in a folder with a space. `sudo`: None if there is none, else the exit of `sudo -n`.
    Returns status, what was said, and what was called."""
    with tempfile.TemporaryDirectory(prefix="the fakes ") as fakes:
        def fake(name, text):
            path = pathlib.Path(fakes, name)
            path.write_text(text)
            path.chmod(0o755)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), f"{fakes}/{tool}")
        fake("id", f"#!/bin/bash\necho {user}\n")
        fake("sleep", '#!/bin/bash\necho "sleep $*" >>"$FAKES/calls"\n')
        if apt is not None:
            fake(manager, apt)
        if sudo is not None:
            fake("sudo", SUDO)
        for command, answers in (("update", update), ("install", install)):
            for number, answer in enumerate(answers, 1):
                pathlib.Path(fakes, f"{command}.{number}").write_text(answer)
        done = subprocess.run([shutil.which("bash"), "-euo", "pipefail", "-c", SHELL], check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env={"PATH": fakes, "FAKES": fakes, "SCRIPT": str(SCRIPT), "WANTED": wanted,
                                   "NEEDS_PASSWORD": str(sudo or 0)})
        calls = pathlib.Path(fakes, "calls")
        return done.returncode, done.stdout + done.stderr, calls.read_text().splitlines() if calls.exists() else []


def installs():
    """What is missing is installed, as root or by sudo."""
    status, said, calls = run()
    if (status, calls) != (0, ["apt-get update -qq", "apt-get install -y wrk curl"]) or "has them" not in said:
        yield f"as root: exit {status}, {calls}, said {said!r}"
    status, said, calls = run(user=1000, sudo=0)
    if status != 0 or "sudo env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get install -y wrk curl" not in calls:
        yield f"by sudo: exit {status}, {calls}, said {said!r}"


def waits():
    """A lock of another program is waited for, each of them, and that is said once for each command."""
    for lock, holder in ((FRONTEND, "unattended-upgr (process 1234) holds /var/lib/dpkg/lock-frontend"),
                         (LISTS, "apt-get (process 77) holds /var/lib/apt/lists/lock"),
                         (OLD, "another program holds /var/lib/dpkg/lock"),
                         ("dpkg: error: dpkg frontend lock was locked by another process with pid 9",
                          "another program holds the lock of apt-get")):
        for command in ("update", "install"):
            status, said, calls = run(**{command: (lock, lock, lock, "ok")})
            lines = [line for line in said.splitlines() if "waiting" in line]
            if (status, calls.count("sleep 5")) != (0, 3) or len(lines) != 1 or holder not in lines[0]:
                yield f"{command}, three times {lock!r}: exit {status}, {calls}, said {said!r}"
    for manager, (lock, denied) in OTHERS.items():
        status, said, calls = run(install=(lock, lock, "ok"), manager=manager, wanted="git curl")
        lines = [line for line in said.splitlines() if "waiting" in line]
        if (status, calls.count("sleep 5")) != (0, 2) or len(lines) != 1 or f"holds the lock of {manager}" not in lines[0]:
            yield f"{manager}, twice {lock!r}: exit {status}, {calls}, said {said!r}"
        status, said, calls = run(install=(denied,), manager=manager, wanted="git curl")
        if status != 1 or "sleep 5" in calls:
            yield f"{manager} that may not: exit {status}, {calls}, said {said!r}"


def gives_up():
    """Not for ever, and not for what no waiting mends."""
    status, said, calls = run(install=(FRONTEND,))
    if (status, calls.count("sleep 5")) != (1, 180) or "after 15 minutes unattended-upgr (process 1234) holds" not in said:
        yield f"a lock that stays: exit {status}, {len(calls)} calls, said {said!r}"
    status, said, calls = run(install=(DENIED,))
    if status != 1 or "sleep 5" in calls or "Permission denied" not in said:
        yield f"a lock that it may not open: exit {status}, {calls}, said {said!r}"


def says():
    """One sentence with what is missing, what failed and what to run; nothing else of the package manager's."""
    cases = (
        ("nothing can be fetched", {"apt": WARNS},
         ["missing: wrk curl;", '"apt-get install -y wrk curl" failed:',
          "network", "Temporary failure resolving 'a.org'", BY_HAND]),
        ("a package that there is not", {"install": ("E: Unable to locate package wrk",)},
         ['"apt-get install -y wrk curl" failed: E: Unable to locate package wrk', BY_HAND]),
        ("no sudo", {"user": 1000}, ["missing: wrk curl;", "there is no sudo", f"as root: {BY_HAND}"]),
        ("a password", {"user": 1000, "sudo": 1}, ["missing: wrk curl;", "password", "terminal", SUDO_BY_HAND]),
        ("no manager", {"apt": None}, ["missing: wrk curl;", "apt-get, dnf, pacman, brew, pkg", "by hand"]),
        ("by sudo", {"user": 1000, "sudo": 0, "apt": WARNS}, ["missing: wrk curl;", SUDO_BY_HAND]),
    )
    for name, given, wanted in cases:
        status, said, calls = run(**given)
        lines = [line for line in said.splitlines() if not line.startswith("say: installing")]
        if status != 1 or len(lines) != 1 or any(words not in lines[0] for words in wanted):
            yield f"{name}: exit {status}, {calls}, said {said!r}"
        if name in ("no sudo", "a password") and any(call.startswith("apt-get") for call in calls):
            yield f"{name}: it called {calls}"


def main():
    failed = [failure for check in (installs, waits, gives_up, says) for failure in check()]
    for failure in failed:
        print(f"install_tools_test: {failure}")
    if not failed:
        print("install_tools_test: locks of others are waited for, and each failure is one sentence")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
