#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Writes what package managers want of a release into build/packages: see packaging/README.md.

  package.py [--url FOLDER] [--homepage URL]
      FOLDER: where thrum-VERSION.tar.gz will be found. Without it: where it is written.
"""
import argparse
import gzip
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import ports
from check_version import version

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "packages"
RECIPES = ROOT / "packaging"


def archive():
    """The sources of the last commit. The same commit gives the same bytes."""
    path = OUT / f"thrum-{version()}.tar.gz"
    tar = subprocess.run(["git", "archive", "--format=tar", f"--prefix=thrum-{version()}/", "HEAD"],
                         cwd=ROOT, check=True, capture_output=True).stdout
    path.write_bytes(gzip.compress(tar, mtime=0))
    return path


def fill(source, to, values):
    """A recipe, or a folder of them, with its values."""
    if source.is_dir():
        for each in sorted(source.iterdir()):
            fill(each, to / each.name, values)
        return
    text = source.read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text)


def tree_of(folder):
    with tempfile.TemporaryDirectory() as scratch:
        return ports.git_tree(folder, f"{scratch}/port.git")


def vcpkg_registry(values):
    port = OUT / "vcpkg/ports/thrum"
    fill(RECIPES / "vcpkg", port, values)
    versions = OUT / "vcpkg/versions"
    (versions / "t-").mkdir(parents=True)
    entry = {"versions": [{"version": version(), "git-tree": tree_of(port)}]}
    (versions / "t-/thrum.json").write_text(json.dumps(entry, indent=2) + "\n")
    baseline = {"default": {"thrum": {"baseline": version(), "port-version": 0}}}
    (versions / "baseline.json").write_text(json.dumps(baseline, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default=OUT.as_uri())
    parser.add_argument("--homepage", default="")
    arguments = parser.parse_args()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    sources = archive()
    content = sources.read_bytes()
    url = f"{arguments.url.rstrip('/')}/{sources.name}"
    values = {"version": version(), "url": url, "folder": arguments.url.rstrip("/"), "homepage": arguments.homepage or arguments.url,
              "sha256": hashlib.sha256(content).hexdigest(), "sha512": hashlib.sha512(content).hexdigest()}
    fill(RECIPES / "conan", OUT / "conan", values)
    fill(RECIPES / "thrum.wrap", OUT / "thrum.wrap", values)
    fill(RECIPES / "xrepo", OUT / "xrepo", values)
    fill(RECIPES / "homebrew", OUT / "homebrew", values)
    fill(RECIPES / "nix", OUT / "nix", values)
    vcpkg_registry(values)
    errors = [*ports.vcpkg_errors(OUT / "vcpkg", "thrum", version(), tree_of(OUT / "vcpkg/ports/thrum")),
              *ports.xrepo_errors(OUT / "xrepo", "thrum", version()), *ports.bazel_errors(ROOT)]
    if errors:
        sys.exit("\n".join(f"package: {error}" for error in errors))
    for path in sorted(OUT.rglob("*")):
        if path.is_file():
            print(path.relative_to(ROOT))


main()
