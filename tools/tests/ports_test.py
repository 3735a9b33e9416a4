#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/ports.py must find wrong in a port of vcpkg, a package of xrepo and files for Bazel: ours, with one thing changed."""
import hashlib
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import ports  # noqa: E402

recipes = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging"
VALUES = {"version": "0.1.0", "url": "https://example.org/thrum-0.1.0.tar.gz", "folder": "https://example.org",
          "homepage": "https://example.org", "sha256": "a" * 64, "sha512": "b" * 128}
# file: (what is replaced, by what, what is said); no file: all is well.
VCPKG = {
    "ours": (None, "", "", None),
    "a name with an underscore": ("vcpkg.json", '"name": "thrum"', '"name": "thrum_lib"', "the name is that of the folder"),
    "no description": ("vcpkg.json", '"description": "', '"description": "", "x": "', "there is no description"),
    "an unknown key": ("vcpkg.json", '"license": "MIT",', '"license": "MIT",\n  "url": "x",', "vcpkg format-manifest"),
    "keys out of order": ("vcpkg.json", '"name": "thrum",\n  "version": "0.1.0",', '"version": "0.1.0",\n  "name": "thrum",',
                          "vcpkg format-manifest"),
    "other spaces": ("vcpkg.json", '  "name"', '    "name"', "vcpkg format-manifest"),
    "no helper": ("vcpkg.json", '"vcpkg-cmake-config"', '"vcpkg-cmake-other"', "wants the dependency vcpkg-cmake-config"),
    "a helper of the target": ("vcpkg.json", '"name": "vcpkg-cmake",\n      "host": true', '"name": "vcpkg-cmake",\n      "host": false',
                               "wants the dependency vcpkg-cmake of the host"),
    "a deprecated helper": ("portfile.cmake", "vcpkg_cmake_install()", "vcpkg_install_cmake()", "vcpkg_install_cmake is deprecated"),
    "no copyright": ("portfile.cmake", "vcpkg_install_copyright", "message", "installs no copyright"),
    "a short checksum": ("portfile.cmake", "b" * 128, "b" * 64, "no SHA512"),
    "a version of its own": ("portfile.cmake", "${VERSION}", "0.1.0", "does not take its version"),
    "a value that is not filled in": ("portfile.cmake", "https://example.org", "@url@", "@url@ was not filled in"),
    "no usage": ("usage", "find_package(", "include(", "usage: there is none"),
    "another baseline": ("../../versions/baseline.json", "0.1.0", "0.2.0", "names another version"),
    "another folder": ("../../versions/t-/thrum.json", "c" * 40, "d" * 40, "does not have this version"),
}
XREPO = {
    "ours": ("", "", None),
    "another name": ('package("thrum")', 'package("Thrum")', "not called as its folder"),
    "a library": (", {headeronly = true}", "", "headers alone are set_kind"),
    "no licence": ("set_license", "set_version", "there is no set_license"),
    "another version": ('add_versions("0.1.0"', 'add_versions("0.0.9"', "no SHA-256 of 64 digits for 0.1.0"),
    "a short checksum": ("a" * 64, "a" * 40, "no SHA-256"),
    "a fixed address": ("$(version)", "0.1.0", "has no $(version)"),
    "no on_install": ("on_install(", "on_load(", "there is no on_install"),
    "no on_test": ("on_test(", "on_check(", "no on_test"),
    "a test that asserts nothing": ("assert(package:check", "print(package:check", "no on_test"),
    "a tabulator": ("    set_license", "\tset_license", "indented by fours"),
    "three spaces": ("    set_license", "   set_license", "indented by fours"),
    "a value that is not filled in": ("https://example.org/", "@folder@/", "@folder@ was not filled in"),
}
BAZEL = {
    "ours": ("BUILD.bazel", "", "", None),
    "another module": ("MODULE.bazel", 'module(name = "thrum"', 'module(name = "other"', "there is no module"),
    "rules of an unknown module": ("MODULE.bazel", '"rules_cc"', '"rules_java"', "has no bazel_dep of it"),
    "a file that there is not": ("BUILD.bazel", "implementation.cpp", "other.cpp", "there is no cmake/other.cpp"),
    "a library less": ("BUILD.bazel", 'name = "tls"', 'name = "ssl"', "the libraries are"),
}


def filled(path):
    text = path.read_text()
    for name, value in VALUES.items():
        text = text.replace(f"@{name}@", value)
    return text


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def bazel(file, old, new):
    root = recipes.parent
    with tempfile.TemporaryDirectory() as folder:
        for name in ("MODULE.bazel", "BUILD.bazel", "cmake/implementation.cpp"):
            text = (root / name).read_text()
            assert name != file or old in text
            write(pathlib.Path(folder) / name, text.replace(old, new, 1) if name == file else text)
        return list(ports.bazel_errors(folder))


def vcpkg(file, old, new):
    with tempfile.TemporaryDirectory() as folder:
        registry = pathlib.Path(folder)
        port = registry / "ports/thrum"
        for each in (recipes / "vcpkg").iterdir():
            write(port / each.name, filled(each))
        write(registry / "versions/baseline.json", json.dumps({"default": {"thrum": {"baseline": "0.1.0", "port-version": 0}}}))
        write(registry / "versions/t-/thrum.json", json.dumps({"versions": [{"version": "0.1.0", "git-tree": "c" * 40}]}))
        if file is not None:
            path = port / file
            assert old in path.read_text(), (file, old)
            path.write_text(path.read_text().replace(old, new))
        return [*ports.vcpkg_errors(registry, "thrum", "0.1.0", "c" * 40)]


def xrepo(old, new):
    with tempfile.TemporaryDirectory() as folder:
        text = filled(recipes / "xrepo/packages/t/thrum/xmake.lua")
        assert old in text, old
        write(pathlib.Path(folder) / "packages/t/thrum/xmake.lua", text.replace(old, new) if old else text)
        return [*ports.xrepo_errors(folder, "thrum", "0.1.0")]


def main():
    failed = 0
    for kind, cases in ((vcpkg, VCPKG), (xrepo, XREPO), (bazel, BAZEL)):
        for name, (*change, said) in cases.items():
            errors = kind(*change)
            if errors if said is None else not any(said in error for error in errors):
                print(f"ports_test: {kind.__name__}: {name}: {said!r} expected, found {errors}")
                failed = 1
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder) / "port/x", "x\n")
        blob = hashlib.sha1(b"blob 2\0x\n").digest()
        entry = b"100644 x\0" + blob
        if ports.git_tree(f"{folder}/port", f"{folder}/git") != hashlib.sha1(b"tree %d\0" % len(entry) + entry).hexdigest():
            print("ports_test: a folder is not called as git calls it")
            failed = 1
    if not failed:
        print(f"ports_test: {len(VCPKG) + len(XREPO) + len(BAZEL)} packages, each judged as it must be")
    sys.exit(failed)


main()
