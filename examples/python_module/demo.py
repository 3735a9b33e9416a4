# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""demo.py FOLDER...: the ten most frequent words of the files below some folders.

Finds the module words where it was built: PYTHONPATH=build/dev/examples python3 examples/python_module/demo.py include
"""
import pathlib
import sys
import threading

import words

paths = [path for folder in sys.argv[1:] for path in pathlib.Path(folder).rglob("*") if path.is_file()]
seen = 0
threads = set()


def show(path):
    global seen
    seen += 1  # the interpreter's lock is held
    threads.add(threading.get_native_id())


counts = words.count(paths, on_file=show)
for word, n in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:10]:
    print(f"{n:8} {word}")
print(f"{seen} files, {sum(counts.values())} words; told of by {len(threads)} threads")
