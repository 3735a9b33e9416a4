#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Every block of C++ in README.md and docs/ is a program that compiles without a warning, and ends with 0.

All of them are compiled as one source file, each in a namespace of its own, since most of the time is that of
the headers; each is run as a process of its own. A block whose first line is `// needs: NAME` is a source file of its
own, compiled if pkg-config knows the library of that name (or the compiler OpenMP, Asio or glibc), and left out with a line if not.
A block whose first line is `// NAME.hpp` is a header, which the page's other blocks include by that name.

  CXX=g++ code_blocks.py
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
HEADER = re.compile(r"// (\w+\.hpp)")


def blocks():
    """(page and line, its lines) of each."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            yield page.relative_to(ROOT).as_posix(), line, found[1].splitlines()


def as_function(where, line, body, number):
    """The block as `int block_N::program()`, and its includes."""
    if "int main() {" not in body or body[-1] != "}":
        sys.exit(f"code_blocks: {where}:{line}: a block of C++ is a program that ends with the }} of `int main() {{`; "
                 "if it shall be none, it says ```text")
    includes = [each for each in body if each.startswith("#include")]
    rest = ["int program() {" if each == "int main() {" else "" if each.startswith("#include") else each
            for each in body[:-1]]
    return includes, [f"namespace block_{number} {{", f'#line {line} "{where}"', *rest, "return 0;", "}", "}"]


COMPILE = [os.environ.get("CXX", "c++"), "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT / 'include'}"]

# Which pkg-config does not know: options, and what compiles where it is installed.
TRIED = {
    "openmp": (["-fopenmp"], ""),
    "asio": ([], "#include <asio/version.hpp>\n"),
    "stdexec": (["-O1"], "#include <stdexec/execution.hpp>\n"),
    "glibc": ([], "#include <features.h>\n#if !defined(__GLIBC__) || !defined(__LP64__)\n#error\n#endif\n"),
}


def compiles(text, program, options=()):
    return subprocess.run([*COMPILE, str(text), *options, "-o", str(program)]).returncode == 0


def options_of(library):
    """What compiles and links a program with a library; None where that is not installed."""
    if library in TRIED:
        options, text = TRIED[library]
        tried = subprocess.run([*COMPILE, *options, "-x", "c++", "-", "-o", "/dev/null"], input=text + "int main() {}", text=True,
                               capture_output=True)
        return options if tried.returncode == 0 else None
    try:
        asked = subprocess.run(["pkg-config", "--cflags", "--libs", library], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    if asked.returncode != 0:
        return None
    # Headers of others are not held to our warnings.
    return [re.sub("^-I", "-isystem", each) for each in shlex.split(asked.stdout)] + ["-fPIC"]


def failure(name, command):
    """1 if the program does not end with 0. What it writes goes with its folder."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=command[0].parent)
        said, status = run.stdout + run.stderr, run.returncode
    except subprocess.TimeoutExpired:
        said, status = "", "did not end"
    if status != 0:
        print(f"FAIL  {name}: {status}\n{said}")
    return status != 0


def main():
    includes, source, names, alone, headers = [], [], [], [], {}
    for where, line, body in blocks():
        if is_header := HEADER.fullmatch(body[0]):
            headers[is_header[1]] = f'#line {line} "{where}"\n' + "\n".join(body) + "\n"
            continue
        if body[0].startswith("// needs: "):
            alone.append((f"{where}:{line}", body[0].removeprefix("// needs: "), f'#line {line} "{where}"\n' + "\n".join(body)))
            continue
        more, function = as_function(where, line, body, len(names))
        includes += more
        source += function
        names.append(f"{where}:{line}")
    calls = [f"    case {i}: return block_{i}::program();" for i in range(len(names))]
    source = [*dict.fromkeys(includes), "#include <cstdlib>", *source, '#line 1 "code_blocks"', "int main(int, char** arguments) {",
              "  switch (std::atoi(arguments[1])) {", *calls, "    default: return 1;", "  }", "}"]
    failed = left_out = 0
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "code_blocks"
        text = program.with_suffix(".cpp")
        for name, header in headers.items():
            text.with_name(name).write_text(header)
        text.write_text("\n".join(source) + "\n")
        if not compiles(text, program):
            sys.exit("code_blocks: they do not compile")
        for i, name in enumerate(names):
            failed += failure(name, [program, str(i)])
        for name, library, body in alone:
            options = options_of(library)
            if options is None:
                left_out += 1
                print(f"skip  {name}: {library} is not installed")
                continue
            text.write_text(body + "\n")
            if not compiles(text, program, options):
                failed += 1
                print(f"FAIL  {name}: does not compile")
                continue
            failed += failure(name, [program])
    ran = len(names) + len(alone) - left_out
    print(f"code_blocks: {ran - failed} of {ran} programs compile and end with 0")
    sys.exit(failed != 0)


main()
