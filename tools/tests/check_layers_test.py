#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What of conditions on the platform tools/check_layers.py must find, and what it must not."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platform_conditions  # noqa: E402

OWN = platform_conditions.own_names(
    (pathlib.Path(__file__).resolve().parents[2] / "include/thrum/detail/base/config.hpp").read_text())


def guarded(body):
    return f"#ifndef THRUM_X_HPP\n#define THRUM_X_HPP\n\n{body}\n#endif\n"


ONE = "#if THRUM_OS_LINUX\n#include <sys/epoll.h>\nint x;\n#endif"
# name: floor, what stands in the file, what is said (or nothing), and in which line of it
CASES = {
    "options of the build": (3, "#if THRUM_CHECKS && !defined(THRUM_KEEP_ERRNO)\nint x;\n#endif", None),
    "a system in a comment": (3, "// #if THRUM_OS_LINUX\n/* #ifdef __linux__ */", None),
    "a system in quotes": (3, 'auto x = "\\"__linux__"; auto y = R"(\n#ifdef _WIN32\n)";', None),
    "a word with an apostrophe in it": (3, "int x = 1'000; int y = 2'000;", None),
    "a name that begins so": (3, "int linux_poller; int unixes;", None),
    "a port's condition": (1, ONE, None),
    "a port asks for a name of its system": (
        1, "#if THRUM_OS_LINUX\n#if defined(SYS_pwritev2)\nint x;\n#endif\n#endif", None),
    "a port of two systems": (2, "#if THRUM_OS_LINUX && \\\n    !THRUM_OS_PORTABLE\nint x;\n#endif", None),
    "macros of a port's own": (1, "#if THRUM_ARCH_S390X\n#define THRUM_ARCH_SAVE(a) a\n#undef THRUM_ARCH_SAVE\n#endif", None),
    "our own name": (3, "#if THRUM_OS_WINDOWS\n#endif", "condition on the platform", 4),
    "a poller": (3.4, "#if THRUM_POLLER_KQUEUE\n#endif", "condition on the platform", 4),
    "ifdef": (3, "#ifdef __linux__\n#endif", "condition on the platform", 4),
    "defined without parentheses": (7, "#if defined _WIN32\n#endif", "condition on the platform", 4),
    "elifdef": (5, "#if THRUM_CHECKS\n#elifdef __APPLE__\n#endif", "condition on the platform", 4),
    "behind a backslash": (3, "#if THRUM_CHECKS || \\\n    defined(__FreeBSD__)\n#endif", "condition on the platform", 4),
    "behind a backslash in the word": (3, "#if THRUM_CHECKS || defined(__li\\\nnux__)\n#endif", "no option", 4),
    "behind a comment": (3, "/* so */ # /* and */ ifdef /* so */ _WIN32\n#endif", "condition on the platform", 4),
    "in other letters": (3, "%:if THRUM_OS_MACOS\n%:endif", "condition on the platform", 4),
    "by the processor": (3, "#if defined(__x86_64) || __LP64__\n#endif", "condition on the platform", 4),
    "by a header": (3, "#if __has_include(<windows.h>)\n#endif", "no option", 4),
    "by a system's name": (7, "#ifdef MSG_NOSIGNAL\n#endif", "no option", 4),
    "by a name of one's own": (3, "#define HERE 1\n#if HERE\n#endif", "no option", 5),
    "a name of one's own for a system": (3, "#define HERE THRUM_OS_LINUX", "not by a condition", 4),
    "in C++": (3, "void f() {\n  if constexpr (THRUM_OS_WINDOWS == 1) {\n  }\n}", "not by a condition", 5),
    "in C++, of a port": (1, "constexpr bool is_here = THRUM_OS_WINDOWS;", "not by a condition", 4),
    "by what the kind of processor is called": (0, "int x = __SIZEOF_POINTER__;", "not by a condition", 4),
    "on floor 0": (0, "#if THRUM_HAS_FUTEX\n#endif", "no option", 4),
    "a port with code beside it": (1, ONE + "\nint y;", "condition on the platform", 4),
    "a port with two conditions": (2, ONE + "\n#if THRUM_OS_MACOS\nint y;\n#endif", "condition on the platform", 8),
    "a port with another branch": (1, "#if THRUM_OS_LINUX\nint x;\n#else\nint y;\n#endif", "condition on the platform", 4),
    "a port with a condition inside": (
        1, "#if THRUM_OS_LINUX\n#if THRUM_ARCH_I686\nint x;\n#endif\n#endif", "condition on the platform", 5),
    "a header of a system": (3, "#include <unistd.h>", "<unistd.h> is a system's", 4),
    "a header of a system with a folder": (7, "#include <sys/socket.h>", "<sys/socket.h> is a system's", 4),
    "a header of OpenSSL outside of TLS": (7, "#include <openssl/ssl.h>", "<openssl/ssl.h> is a system's", 4),
    "os without its name": (7, "using namespace thrum::os;", "os and arch are named", 4),
    "os by another name": (7, "namespace system = os;", "os and arch are named", 4),
}


def main():
    failed = 0
    for case, (floor, body, said, *where) in CASES.items():
        errors = platform_conditions.platform_errors("thrum/x.hpp", floor, guarded(body), OWN)
        right = not errors if said is None else \
            any(said in error and error.startswith(f"thrum/x.hpp:{where[0]}:") for error in errors)
        if not right:
            print(f"check_layers_test: {case}: {said!r} expected at {where}, found {errors}")
            failed = 1
    if not OWN >= {"THRUM_OS_WINDOWS", "THRUM_ARCH_ARMHF", "THRUM_POLLER_KQUEUE", "THRUM_OS_PORTABLE"}:
        print(f"check_layers_test: of base/config.hpp's macros only these are known: {sorted(OWN)}")
        failed = 1
    if not failed:
        print(f"check_layers_test: {len(CASES)} files, each judged as it must be")
    sys.exit(failed)


if __name__ == "__main__":
    main()
