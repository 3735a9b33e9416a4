#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/amalgamate.py makes of headers that include each other under conditions."""
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import amalgamate  # noqa: E402


def header(name, body):
    guard = name.upper()
    return f"#ifndef {guard}\n#define {guard}\n{body}\n#endif\n"


def count(main, **others):
    """How often each of the headers stands in what is made of main."""
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder)
        (include / "thrum").mkdir()
        for name, body in {"main": main, **others}.items():
            (include / f"thrum/{name}.hpp").write_text(header(name, body))
        made = amalgamate.Amalgam(include)
        made.add("thrum/main.hpp", amalgamate.Conditions())
        text = "\n".join(made.out)
        return {name: text.count(f"// ---- thrum/{name}.hpp ----") for name in others}, text


def ask(*names):
    return "\n".join(f"#include <thrum/{name}.hpp>" for name in names)


class Amalgamate(unittest.TestCase):
    def test_a_header_stands_once_where_it_is_first_included(self):
        found, text = count(ask("a", "b"), a=ask("b"), b="int b;")
        self.assertEqual(found, {"a": 1, "b": 1})
        self.assertNotIn("#include", text)

    def test_a_header_first_included_inside_an_if_stands_again_outside(self):
        found, _ = count("#if LATE\n" + ask("a") + "\n#endif\n" + ask("a"), a="int a;")
        self.assertEqual(found["a"], 2)

    def test_a_header_included_outside_is_not_repeated_inside(self):
        found, _ = count(ask("a") + "\n#if LATE\n" + ask("a") + "\n#endif", a="int a;")
        self.assertEqual(found["a"], 1)

    def test_the_same_condition_counts_in_another_header(self):
        inside = "#if LATE\n" + ask("a") + "\n#endif"
        found, _ = count(inside + "\n" + ask("b"), a="int a;", b=inside)
        self.assertEqual(found["a"], 1)

    def test_an_else_is_not_its_if(self):
        found, _ = count("#if LATE\n" + ask("a") + "\n#else\n" + ask("a") + "\n#endif", a="int a;")
        self.assertEqual(found["a"], 2)

    def test_behind_every_branch_of_the_systems_a_header_stands_on_all(self):
        main = ("#if THRUM_OS_POSIX\n" + ask("a") + "\n#elif THRUM_OS_WINDOWS\n" + ask("a") + "\n#endif\n"
                + ask("a"))
        found, _ = count(main, a="int a;")
        self.assertEqual(found["a"], 2)

    def test_one_system_is_not_another(self):
        main = "#if THRUM_OS_LINUX\n" + ask("a") + "\n#endif\n#if THRUM_OS_ELF\n" + ask("a") + "\n#endif"
        found, _ = count(main, a="int a;")
        self.assertEqual(found["a"], 2)
        main = "#if THRUM_OS_ELF\n" + ask("a") + "\n#endif\n#if THRUM_OS_LINUX\n" + ask("a") + "\n#endif"
        found, _ = count(main, a="int a;")
        self.assertEqual(found["a"], 1)

    def test_a_macro_that_only_begins_like_a_system_is_a_condition_of_its_own(self):
        main = "#if THRUM_OS_PORTABLE\n" + ask("a") + "\n#endif\n#if THRUM_OS_LINUX\n" + ask("a") + "\n#endif"
        found, _ = count(main, a="int a;")
        self.assertEqual(found["a"], 2)

    def test_bodies_stand_behind_what_all_headers_declare_in_the_order_in_which_they_need_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder)
            (include / "thrum").mkdir()
            bodies = "\n#if THRUM_BODIES\n{}\n#endif"
            for name, body in {"main": ask("a", "b"), "c": "int in_c;", "b": "int in_b;" + bodies.format("int body_of_b;"),
                               "a": "int in_a;" + bodies.format(ask("b", "c") + "\nint body_of_a;")}.items():
                (include / f"thrum/{name}.hpp").write_text(header(name, body))
            made = amalgamate.Amalgam(include)
            made.add("thrum/main.hpp", amalgamate.Conditions())
            self.assertNotIn("body_of", "\n".join(made.out))
            made.add_bodies("thrum/main.hpp", amalgamate.Conditions())
            self.assertEqual(re.findall(r"int (\w+);", "\n".join(made.out)),
                             ["in_a", "in_b", "body_of_b", "in_c", "body_of_a"])

    def test_each_of_several_parts_with_bodies_stands_under_its_own_condition(self):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder)
            (include / "thrum").mkdir()
            part = "#if THRUM_OS_{0}\nint in_{0};\n#if THRUM_BODIES\nint body_of_{0};\n#endif\n#endif"
            (include / "thrum/main.hpp").write_text(header("main", part.format("LINUX") + "\n" + part.format("WINDOWS")))
            made = amalgamate.Amalgam(include)
            made.add("thrum/main.hpp", amalgamate.Conditions())
            made.add_bodies("thrum/main.hpp", amalgamate.Conditions())
            self.assertEqual(re.findall(r"#if \S+ && THRUM_OS_(\w+) && THRUM_BODIES\nint body_of_(\w+);", "\n".join(made.out)),
                             [("LINUX", "LINUX"), ("WINDOWS", "WINDOWS")])

    def test_a_header_without_a_guard_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder)
            (include / "thrum").mkdir()
            (include / "thrum/a.hpp").write_text("#pragma once\n#define A 1\nint a;\n")
            with self.assertRaises(SystemExit):
                amalgamate.Amalgam(include).add("thrum/a.hpp", amalgamate.Conditions())

    def test_beside_the_one_file_headers_of_the_interface_are_it_and_others_are_themselves(self):
        with tempfile.TemporaryDirectory() as folder:
            mirror = pathlib.Path(folder)
            amalgamate.mirror(mirror, *amalgamate.amalgamate())
            self.assertEqual((mirror / "thrum/chan.hpp").read_text(), "#include <thrum.hpp>\n")
            for itself in ("version", "detail/net/look_up", "detail/sched/watch/monitor", "detail/os/linux/futex", "net/tls"):
                self.assertEqual((mirror / f"thrum/{itself}.hpp").read_text(),
                                 (amalgamate.INCLUDE / f"thrum/{itself}.hpp").read_text(), itself)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
