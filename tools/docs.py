#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""The documentation as a site, in build/site: README and docs/ as they are, and a reference made of the headers.

mkdocs wants all pages in one folder, with links inside of it. So the pages are copied to build/site-pages, README as the first
page, and each link to a file that is no page (a header, an example) leads to a copy of it, as does each name of such a file in a text. Pictures become parts of their pages. mkdocs then checks every link and
heading, and a warning is an error (mkdocs.yml). docs/names.md must have each name that the headers declare. mkdocs and its
theme come from Python's package index, into build/mkdocs.

  docs.py            builds the site
  docs.py --pages    only what mkdocs is given
"""
import pathlib
import html
import os
import re
import shutil
import subprocess
import sys

import check_docs
import check_version
import reference

root = pathlib.Path(__file__).resolve().parent.parent
PAGES, TOOLS = root / "build/site-pages", root / "build/mkdocs"
PACKAGES = ["mkdocs==1.6.1", "mkdocs-material==9.5.50"]


def place(path):
    """Where a file of the repository stands in the site."""
    name = path.relative_to(root).as_posix()
    if name == "README.md":
        return "index.md"
    if path.suffix == ".md":
        return name.removeprefix("docs/") if name.startswith("docs/") else name.lower().replace("/readme.md", ".md")
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return f"files/{name}.txt"  # a browser shows it


def inline(match, page):
    """A picture as a part of the page, so that it follows the page's colours."""
    picture = (page.parent / match[2]).read_text()
    return (f'<figure class="picture" role="img" aria-label="{html.escape(match[1])}">\n'
            + "\n".join(filter(None, picture.split("\n"))) + "\n</figure>")


def copy_file(path):
    copy = PAGES / place(path)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)


def with_links(text, up):
    """Files that a text names as `examples/hello.cpp` are links, but in programs, headings and links."""
    def link(match):
        path = root / match[1]
        if not path.is_file():
            return match[0]
        if path.suffix != ".md":
            copy_file(path)
        return f"[{match[0]}]({up}{place(path)})"
    parts = re.split(r"(^```.*?^```$|^#[^\n]*$)", text, flags=re.M | re.S)
    name = re.compile(r"(?<![`\[])`((?:bench|docs|examples|tests|tools)/[\w./-]+)`(?![`\]])")
    return "".join(part if i % 2 else name.sub(link, part) for i, part in enumerate(parts))


def copy_page(page):
    """The page with its links as the site has them."""
    text = re.sub(r"^!\[(.*)\]\((.*\.svg)\)$", lambda match: inline(match, page), page.read_text(), flags=re.M)
    to = place(page)
    up = "../" * to.count("/")
    moved = {}
    for target, path, heading in check_docs.links(page):
        if target.startswith("#"):
            continue
        moved[target] = up + place(path) + (f"#{heading}" if heading else "")
        if path.suffix != ".md":
            copy_file(path)
    for target, new in moved.items():
        text = text.replace(f"]({target})", f"]({new})")
    out = PAGES / to
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(with_links(text, up))


def mkdocs():
    """The program, installed if need be."""
    program = TOOLS / "bin/mkdocs"
    if not program.exists():
        print(f"installing {' and '.join(PACKAGES)} from the package index into {TOOLS}", file=sys.stderr)
        for command in ([sys.executable, "-m", "venv", str(TOOLS)],
                        [str(TOOLS / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"docs: mkdocs could not be installed into {TOOLS} ("
                         + " ".join((done.stderr or done.stdout).split()[-30:]) + "); make the package index reachable")
    return program


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in check_docs.pages():
        copy_page(page)
    shutil.copytree(root / "docs/site", PAGES / "site")
    names = reference.write(PAGES / "reference")
    table = (root / "docs/names.md").read_text()
    missing = [name for name in names if not re.search(rf"\b{name.split('::')[-1]}\b", table)]
    if missing:
        sys.exit(f"docs: docs/names.md has no {', '.join(missing)}")
    if "--pages" in sys.argv[1:]:
        return 0
    # Not --quiet, with which it does not count warnings either.
    done = subprocess.run([mkdocs(), "build", "--strict", "-f", str(root / "mkdocs.yml")], cwd=root, capture_output=True, text=True,
                          env={**os.environ, "THRUM_SITE": f"thrum {check_version.version()}"})
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr + "docs: the site has warnings")
    print(f"docs: {sum(1 for _ in PAGES.rglob('*.md'))} pages, {len(names)} names in the reference: build/site/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
