# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The C++ syntax tree, for checks that text would fool.

libclang comes from the Python package index, into build/libclang, when it is not there already. The
standard's headers are those of the compiler `c++`. What libclang does not show, and what the checks
therefore close by rules of their own: the instantiations of templates (a template is seen as it is
written), and what the preprocessor left out.
"""
import ctypes
import os
import pathlib
import re
import shlex
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
VERSION = "18.1.1"


def die(text):
    print(f"syntax_tree: {text}", file=sys.stderr)
    sys.exit(1)


def libclang():
    """The module clang.cindex, installed if need be. Ends the program with a sentence if it cannot."""
    try:
        import clang.cindex
        return clang.cindex
    except ImportError:
        pass
    place = root / "build/libclang"
    found = sorted(place.glob("lib/python3*/site-packages/clang/cindex.py"))
    if not found:
        print(f"installing libclang {VERSION} from the package index into {place}", file=sys.stderr)
        for command in ([sys.executable, "-m", "venv", str(place)],
                        [str(place / "bin/python"), "-m", "pip", "install", "-q",
                         "--disable-pip-version-check", f"libclang=={VERSION}"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                die("this check reads the syntax tree and needs the Python package libclang "
                    f"{VERSION}, which could not be installed into {place} ("
                    + " ".join((done.stderr or done.stdout).split()[-30:])
                    + "); make the package index reachable, or install the package by hand")
        found = sorted(place.glob("lib/python3*/site-packages/clang/cindex.py"))
    if not found:
        die(f"{place} holds no libclang; remove it, and it is installed anew")
    sys.path.insert(0, str(found[0].parent.parent))
    import clang.cindex
    return clang.cindex


def system_folders():
    """Where the compiler looks for <...>, its own headers among them: the package has none."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    said = subprocess.run([*compiler, "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    found = re.search(r"#include <\.\.\.> search starts here:\n(.*?)\nEnd of search", said, re.S)
    if not found:
        die(f"{compiler[0]} -E -v does not tell its include folders")
    return [line.strip().removesuffix(" (framework directory)") for line in found[1].split("\n")]


class Tree:
    """One translation unit: the files in `texts` (path: text) and what they include."""

    def __init__(self, main, texts, options=()):
        self.cindex = libclang()
        self.CursorKind = self.cindex.CursorKind
        self.lib = self.cindex.conf.lib
        self.lib.clang_getFileLocation.argtypes = [
            self.cindex.SourceLocation, ctypes.POINTER(self.cindex.c_object_p),
            *[ctypes.POINTER(ctypes.c_uint)] * 3]
        arguments = ["-x", "c++", "-std=c++20", "-nostdinc", "-nostdinc++", "-ferror-limit=20",
                     f"-I{root / 'include'}", *options]
        for folder in system_folders():
            arguments += ["-isystem", folder]
        self.unit = self.cindex.Index.create().parse(main, args=arguments,
                                                     unsaved_files=list(texts.items()))
        wrong = [str(d) for d in self.unit.diagnostics if d.severity >= 3]
        if wrong:
            die("the sources do not compile with libclang:\n" + "\n".join(wrong))
        self.names = {}

    def place(self, location):
        """(file name, line, offset) where this is written, in a macro's argument too."""
        file, line, column, offset = (self.cindex.c_object_p(), ctypes.c_uint(), ctypes.c_uint(),
                                      ctypes.c_uint())
        self.lib.clang_getFileLocation(location, ctypes.byref(file), ctypes.byref(line),
                                       ctypes.byref(column), ctypes.byref(offset))
        if not file:
            return None, 0, 0
        key = ctypes.cast(file, ctypes.c_void_p).value
        if key not in self.names:
            self.names[key] = self.cindex.File(file).name
        return self.names[key], line.value, offset.value

    def includes(self):
        return {i.include.name for i in self.unit.get_includes()}
