#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""A reference of every public name, from the headers: its declaration as it is written, and its /// comment.

Public is what <thrum.hpp>, and the public headers beside it, declare in `thrum`, and in `this_goroutine`,
`net`, `io` and `testing` within. A class shows its public members, and those of its bases that are private to the library (`class chan : public chan_detail::sending<...>`). One comment
may serve several declarations that follow each other without an empty line. tools/docs.py makes it a part of the site.

  reference.py FOLDER     writes the pages
  reference.py --names    the names, one a line
"""
import bisect
import pathlib
import re
import sys

import house
import syntax_tree

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include/thrum"
PUBLIC = ("this_goroutine", "net", "io", "testing")
PRIVATE = re.compile(r"sched|base|arch|os|netpoll|debug|\w*_detail|detail")
PAGES = {  # page: (title, what its headers are called, from include/thrum)
    "net": ("Network", r"net/"),
    "io": ("Files, processes, streams", r"io/"),
    "testing": ("Tests", r"testing/"),
    "channels": ("Channels and select", r"chan|select"),
    "sync": ("Synchronisation", r"sync/|group|fork_join|parallel"),
    "time": ("Time and contexts", r"time|context|deadline"),
    "goroutines": ("Start and stop, goroutines", r""),
}


# Neither in <thrum.hpp> nor in <thrum/implementation.hpp>, which holds the other public headers: what each wants.
BESIDE = {"thrum/net/tls.hpp": "openssl/ssl.h", "thrum/testing/fake_net.hpp": "thrum/testing/fake_net.hpp"}


class Source:
    """A header, to be cut into declarations and comments."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.lines = self.data.decode().split("\n")
        self.bodies = set(house.lines_of_bodies(self.data.decode()))
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def line(self, offset):
        return bisect.bisect_right(self.starts, offset) - 1

    def comment(self, line):
        """What stands directly above a line."""
        found = []
        above = line - 1
        while above >= 0 and self.lines[above].lstrip().startswith("///"):
            found.insert(0, re.sub(r"^\s*/// ?", "", self.lines[above]))
            above -= 1
        return found

    def behind(self, first, last):
        """A ///< comment on one of the lines."""
        return [match[1] for line in self.lines[first:last + 1] if (match := re.search(r"///< ?(.*)", line))]


def head(text):
    """A declaration without its body."""
    text = re.sub(r"//[^\n]*", "", text)
    depth = 0
    for at, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and (c in "{;" or (c == ":" and re.search(r"\)[\w\s]*$", text[:at]) and text[at + 1:at + 2] == " ")):
            text = text[:at]
            break
    text = re.sub(r"#[^\n]*\n", "", text)
    text = re.sub(r"\[\[(?!nodiscard|noreturn).*?\]\] ?|\bTHRUM_[A-Z_]+\b ?|^\s*(?:inline|friend|explicit\(false\)) ", "", text)
    text = re.sub(r"\[\[nodiscard\(.*?\)\]\]", "[[nodiscard]]", " ".join(text.split())).rstrip(" =")
    # Bases that are private to the library: their members are shown as the class's own.
    return re.sub(r"^((?:template <.*?> )?(?:class|struct) [\w:]+) : .*_detail::.*", r"\1", text)


class Reference:
    def __init__(self):
        text = "#include <thrum/implementation.hpp>\n" + "".join(
            f"#if __has_include(<{wants}>)\n#include <{header}>\n#endif\n" for header, wants in BESIDE.items())
        self.tree = syntax_tree.Tree("reference.cpp", {"reference.cpp": text})
        self.kinds = self.tree.CursorKind
        self.sources = {}
        self.entries = {}  # qualified name: [(declarations, comment, members)]
        self.where = {}  # qualified name: header, from include/thrum
        self.before = (None, 0, [])  # header, last line and comment of the declaration before
        for cursor in self.tree.unit.cursor.get_children():
            if cursor.kind == self.kinds.NAMESPACE and cursor.spelling == "thrum":
                self.namespace(cursor, ())
        for name, entries in self.entries.items():  # `using this_goroutine::sleep_for;`
            if not any(said for _, said, _ in entries):
                same = [other for other in self.entries if other.endswith(f"::{name.split('::')[-1]}") and other != name]
                if same:
                    self.entries[name] = self.entries[same[0]]

    def source(self, cursor):
        file = cursor.location.file
        if file is None or not pathlib.Path(file.name).resolve().is_relative_to(include):
            return None
        return self.sources.setdefault(file.name, Source(file.name))

    def namespace(self, cursor, path):
        for child in cursor.get_children():
            if child.kind == self.kinds.NAMESPACE:
                if re.fullmatch(r"v\d+_\w+", child.spelling):
                    self.namespace(child, path)
                elif child.spelling in PUBLIC and not path:
                    self.namespace(child, (child.spelling,))
                elif not PRIVATE.fullmatch(child.spelling):
                    raise SystemExit(f"reference: namespace {child.spelling} is neither public nor private")
            else:
                self.declaration(child, path)

    def declaration(self, cursor, path):
        k = self.kinds
        if cursor.kind == k.USING_DECLARATION:
            for each in cursor.get_children():
                if each.kind in (k.OVERLOADED_DECL_REF, k.TYPE_REF, k.TEMPLATE_REF, k.DECL_REF_EXPR) and each.referenced is not None:
                    target = each.referenced.get_definition() or each.referenced
                    if self.source(target) is not None:
                        self.add(target, path)
            return
        if cursor.kind not in (k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE, k.FUNCTION_DECL, k.FUNCTION_TEMPLATE, k.ENUM_DECL,
                               k.TYPE_ALIAS_DECL, k.TYPE_ALIAS_TEMPLATE_DECL, k.VAR_DECL, k.CONCEPT_DECL):
            return
        if cursor.semantic_parent is not None and cursor.semantic_parent.kind != k.NAMESPACE:
            return  # the definition of a member
        self.add(cursor, path)

    def add(self, cursor, path):
        k, source = self.kinds, self.source(cursor)
        if source is None or not cursor.spelling or cursor.spelling.startswith("operator") or "deduction guide" in cursor.spelling:
            return
        is_class = cursor.kind in (k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE)
        if (is_class or cursor.kind == k.ENUM_DECL) and not cursor.is_definition():
            return
        header = pathlib.Path(cursor.location.file.name).resolve().relative_to(include).as_posix()
        if source.line(cursor.extent.start.offset) in source.bodies:
            return
        name = "::".join((*path, cursor.spelling))
        text, comment, together = self.described(cursor, source)
        file, line, said = self.before
        if not comment and together and (file, line) == (header, source.line(cursor.extent.start.offset) - 1):
            comment = said
        self.before = (header, source.line(cursor.extent.end.offset), comment)
        members = self.members(cursor, set()) if is_class else self.enumerators(cursor, source) if cursor.kind == k.ENUM_DECL else []
        known = self.entries.setdefault(name, [])
        self.where.setdefault(name, header)
        if any(text in declarations for declarations, _, _ in known):
            return
        if together and known and (not comment or comment == known[-1][1]):
            known[-1][0].append(text)
        else:
            known.append(([text], comment, members))

    def described(self, cursor, source):
        """Its declaration, its comment, and whether it follows another one without an empty line."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        first, last = source.line(start), source.line(end)
        start = source.starts[first] if not source.data[source.starts[first]:start].strip() else start
        written = source.data[start:end].decode()
        comment = source.comment(first) or source.behind(first, last if "{" not in written else first)
        return head(written), comment, source.lines[first - 1].strip() != ""

    def members(self, cursor, seen):
        """[(declarations, comment)] of what is public in a class and in its private bases."""
        k, found = self.kinds, []
        source = self.source(cursor)
        if source is None or cursor.hash in seen:
            return []
        seen.add(cursor.hash)
        for child in cursor.get_children():
            if child.kind == k.CXX_BASE_SPECIFIER:
                if child.access_specifier.name != "PUBLIC":
                    continue
                for reference in child.get_children():
                    base = reference.referenced.get_definition() if reference.referenced is not None else None
                    spaces = [] if base is None else self.spaces(base)
                    if base is not None and "thrum" in spaces and any(PRIVATE.fullmatch(each) for each in spaces):
                        found += self.inherited(base, cursor.spelling, seen)
                continue
            if child.access_specifier.name != "PUBLIC" or child.kind in (k.CXX_ACCESS_SPEC_DECL, k.DESTRUCTOR, k.FRIEND_DECL, k.STATIC_ASSERT):
                continue
            if child.kind not in (k.CXX_METHOD, k.CONSTRUCTOR, k.FUNCTION_TEMPLATE, k.CONVERSION_FUNCTION, k.FIELD_DECL, k.VAR_DECL,
                                  k.TYPE_ALIAS_DECL, k.ENUM_DECL, k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE):
                continue
            text, comment, together = self.described(child, source)
            own = child.kind in (k.CXX_METHOD, k.CONSTRUCTOR) and re.search(
                rf"\b(?:{re.escape(cursor.spelling)}|operator=)\((?:const )?{re.escape(cursor.spelling)}(?:<[^()]*>)?(?: ?&&?) ?\w*\)", text)
            if own or re.search(r"operator ?(?:==|!=|<=>)", text) or (not comment and not (together and found)):
                continue
            if re.search(r"^For the library|Programs have no need of it", " ".join(comment)):
                continue
            if not comment and found:
                found[-1][0].append(text)
            else:
                found.append(([text], comment))
        return found

    def inherited(self, base, name, seen):
        """The members of a private base under the name of the class."""
        found = []
        for declarations, comment in self.members(base, seen):
            kept = [re.sub(rf"\b{base.spelling}\(", f"{name}(", each) for each in declarations
                    if not re.search(r"adopt_reference|operator=\(|core_type", each)]
            if kept:
                found.append((kept, comment))
        return found

    def spaces(self, cursor):
        names = []
        while cursor is not None and cursor.kind != self.kinds.TRANSLATION_UNIT:
            cursor = cursor.semantic_parent
            if cursor is not None and cursor.kind == self.kinds.NAMESPACE:
                names.append(cursor.spelling)
        return names

    def enumerators(self, cursor, source):
        found = []
        for child in cursor.get_children():
            if child.kind == self.kinds.ENUM_CONSTANT_DECL:
                line = source.line(child.extent.start.offset)
                found.append(([child.spelling], source.comment(line) or source.behind(line, line)))
        return found


def plain(words):
    """Words of a comment that mean nothing to Markdown; unless they are code, which says so as Markdown does."""
    if re.fullmatch(r"`[^`]+`", words):
        return words
    return re.sub(r"([*_`\[\]\\|])", r"\\\1", words).replace("<", "&lt;").replace(">", "&gt;")


def prose(lines):
    """A comment as Markdown: what is indented, or ends with a semicolon, is code; angle brackets and stars are themselves."""
    out, code = [], False
    for line in lines:
        indented = line.startswith("  ")
        if indented != code:
            out += ["```text"] if indented else ["```", ""]
            code = indented
        out.append(line if code else "".join(map(plain, re.split(r"(`[^`]+`)", line))))
    return "\n".join(out + (["```"] if code else []))


def page_of(header):
    return next(page for page, (_, pattern) in PAGES.items() if re.match(pattern, house.short_name(header)))


def anchor(name):
    return re.sub(r"\W+", "-", name).lower()


def write(folder):
    """The pages into a folder; the names that they have."""
    reference = Reference()
    beside = {header.removeprefix("thrum/") for header in BESIDE} | set(re.findall(
        r"#include <thrum/(\w.*)>", (include / "implementation.hpp").read_text()))
    texts = {page: [f"# {title}", ""] for page, (title, _) in PAGES.items()}
    rows = []
    for name, entries in sorted(reference.entries.items(), key=lambda each: each[0].lower()):
        header = reference.where[name]
        page = page_of(header)
        out = texts[page]
        # An instance of its own: `net::conn` and `conn` would else be one heading.
        out += [f"## {name} {{#{anchor(name)}}}", "", f"`#include <thrum/{header}>`" if header in beside else f"`thrum/{header}`", ""]
        for declarations, comment, members in entries:
            out += ["```c++", *(each + ";" for each in declarations), "```", "", prose(comment), ""]
            for inner, said in members:
                out += ["```c++", *(each + ("" if len(each.split()) == 1 and not each.endswith(")") else ";") for each in inner), "```", "",
                        prose(said), ""]
        said = " ".join(entries[0][1])
        first = re.split(r"(?<=[.:;]) ", said)[0]
        rows.append(f"| [{name}]({page}.md#{anchor(name)}) | {prose([first])} |")
    folder.mkdir(parents=True, exist_ok=True)
    for page, out in texts.items():
        (folder / f"{page}.md").write_text("\n".join(out) + "\n")
    index = ["# Reference", "", "Every public name with its declaration and what the headers say of it, in the namespace `thrum`. Those "
             "that show an `#include` are not in `<thrum.hpp>`.", "", "| name | |", "| --- | --- |", *rows]
    (folder / "index.md").write_text("\n".join(index) + "\n")
    return sorted(reference.entries)


def main():
    if sys.argv[1:] == ["--names"]:
        print("\n".join(sorted(Reference().entries)))
    elif len(sys.argv) == 2:
        print(f"reference: {len(write(pathlib.Path(sys.argv[1])))} names")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
