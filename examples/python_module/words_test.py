# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What the module words promises. Run by tests/examples/python_module_test.cpp."""
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import words


def count_here(paths):
    counts = {}
    for path in paths:
        for word in re.findall(rb"[A-Za-z0-9_]+", pathlib.Path(path).read_bytes()):
            counts[word.decode()] = counts.get(word.decode(), 0) + 1
    return counts


class WordsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.paths = []
        for i in range(100):
            path = pathlib.Path(cls.folder.name, str(i))
            path.write_text(f"each file has a word{i} of its own, and ünicode\n" * (i + 1))
            cls.paths.append(path)
        cls.expected = count_here(cls.paths)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_counts_what_python_counts(self):
        self.assertEqual(words.count(self.paths), self.expected)
        self.assertEqual(words.count([]), {})

    def test_tells_of_each_file_once(self):
        told = []
        words.count(self.paths, on_file=told.append, limit=8)
        self.assertEqual(sorted(told), sorted(map(str, self.paths)))

    def test_raises_what_a_callback_raised(self):
        def refuse(path):
            raise KeyError(path)

        with self.assertRaises(KeyError):
            words.count(self.paths, on_file=refuse)
        self.assertEqual(words.count(self.paths), self.expected)

    def test_raises_what_it_cannot_read(self):
        with self.assertRaisesRegex(OSError, "/nowhere/at/all"):
            words.count([*self.paths, "/nowhere/at/all"])

    def test_refuses_arguments_that_it_does_not_understand(self):
        with self.assertRaisesRegex(ValueError, "limit"):
            words.count(self.paths, limit=0)
        with self.assertRaisesRegex(TypeError, "paths"):
            words.count(7)
        with self.assertRaises(TypeError):
            words.count([7])

    def test_ends_when_interrupted(self):
        interrupts = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            interrupts.start()
            words.count(self.paths * 1000, on_file=lambda _: time.sleep(0.01), limit=2)
        interrupts.join()

    def test_is_called_by_several_threads(self):
        results = []
        callers = [threading.Thread(target=lambda: results.append(words.count(self.paths)))
                   for _ in range(8)]
        for each in callers:
            each.start()
        for each in callers:
            each.join()
        self.assertEqual(results, [self.expected] * 8)

    def test_works_in_a_child_of_fork(self):
        words.count(self.paths)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            self.assertEqual(pool.map(words.count, [self.paths] * 4), [self.expected] * 4)

    def test_lets_python_end_while_it_works(self):
        program = ("import sys, threading, time, words\n"
                   "slow = lambda _: time.sleep(0.01)\n"
                   "work = lambda: words.count(sys.argv[1:] * 1000, on_file=slow, limit=2)\n"
                   "for _ in range(4):\n"
                   "    threading.Thread(target=work, daemon=True).start()\n"
                   "time.sleep(0.03)\n")
        for _ in range(5):
            ended = subprocess.run([sys.executable, "-c", program, *map(str, self.paths)],
                                   timeout=60, stderr=subprocess.PIPE, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_refuses_to_begin_when_python_ends(self):
        program = ("import atexit\n"
                   "def late():\n"
                   "    try:\n"
                   "        words.count([])\n"
                   "    except RuntimeError as error:\n"
                   "        print(error)\n"
                   "atexit.register(late)\n"
                   "import words\n")
        ended = subprocess.run([sys.executable, "-c", program], timeout=60, check=True,
                               stdout=subprocess.PIPE)
        self.assertIn(b"words.count: Python is coming to its end", ended.stdout)


if __name__ == "__main__":
    unittest.main()
