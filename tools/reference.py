#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""A reference of every public name, from the headers: its declaration as it is written, and its /// comment.

Public is what <thrum.hpp>, and the public headers beside it, declare in `thrum`, and in `this_goroutine`,
`net`, `io`, `testing`, `debug` and `trace` within. A class shows its public members, and those of its bases that are private to the library (`class chan : public chan_detail::sending<...>`). One comment
may serve several declarations that follow each other without an empty line. tools/docs.py makes it a part of the site.

A class has a synopsis, an example, and a heading for each member. The example is the paragraph of docs/examples.md that names
the class, or the shortest program of README and docs/ that does.

  reference.py FOLDER     writes the pages
  reference.py --names    the names, one a line
"""
import bisect
import pathlib
import re
import sys
import textwrap

import house
import syntax_tree

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include/thrum"
PUBLIC = ("this_goroutine", "net", "io", "testing", "debug", "trace")
PUBLIC_BY_HEADER = ("debug", "trace")  # private headers declare names in these, too
PRIVATE = re.compile(r"sched|base|arch|os|netpoll|\w*_detail|detail")
PAGES = {  # page: (title, what its headers are called, from include/thrum)
    "net": ("Network", r"net/"),
    "io": ("Files, processes, streams", r"io/"),
    "testing": ("Tests", r"testing/"),
    "debug": ("Traces, profiles, leaks, a live page", r"debug/|trace"),
    "channels": ("Channels and select", r"chan|select"),
    "sync": ("Synchronisation", r"sync/|group|fork_join|parallel"),
    "time": ("Time and contexts", r"time|context|deadline"),
    "goroutines": ("Start and stop, goroutines", r""),
}

FIRST = {  # page: what a reader meets first, in this order; the rest follows by name
    "goroutines": "run go spawn join_handle this_goroutine::* attributes priority options runtime blocking thread_lock goroutine_local carried_value",
    "channels": "make_chan chan send_chan recv_chan recv_status select on_recv on_send on_timeout on_deadline on_done otherwise",
    "sync": "wait_group task_group parallel_for parallel_reduce fork_join mutex condition_variable shared_mutex",
    "time": "sleep_for sleep_until context after after_func timer ticker",
    "net": "net::dial net::conn net::listener net::server net::server::session net::endpoint net::resolve net::udp_socket",
    "io": "io::read_file io::write_file io::file io::buffered_reader io::buffered_writer io::copy io::exec io::process io::pipe",
    "testing": "testing::bubble testing::now testing::wait testing::seed testing::fake_net",
    "debug": "debug::goroutine_profile debug::start_cpu_profile debug::stop_cpu_profile debug::cpu_profile debug::profile_form debug::leak_profile debug::serve trace::start trace::stop trace::snapshot trace::mark trace::region",
}
OPERATORS = {"=": "-is", "*": "-star", "-": "-minus", ">": "-more", "<": "-less", "[": "-at", "(": "-call", "+": "-plus", "!": "-not"}
NO_EXAMPLE = re.compile(
    r"serve_options|live_page|literal|region|summary|switch_step|"
    r"\w*_category_type|recv_result|stream_reading|stream_writing|usage_error|descriptor|pipe_end|\w*_t")

# Neither in <thrum.hpp> nor in <thrum/implementation.hpp>, which holds the other public headers: what each wants.
BESIDE = {"thrum/net/tls.hpp": "openssl/ssl.h", "thrum/testing/fake_net.hpp": "thrum/testing/fake_net.hpp",
          "thrum/debug/leaks.hpp": "thrum/debug/leaks.hpp", "thrum/debug/profile.hpp": "thrum/debug/profile.hpp",
          "thrum/debug/serve.hpp": "thrum/debug/serve.hpp"}


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


def without_private(text):
    """A declaration without what only the library has a name for: constraints, defaults, return types."""
    text = re.sub(r"\bgo_detail::(?:spawn_result|task_result)<F(, Args\.\.\.)?>", r"std::invoke_result_t<F\1>", text)
    text = re.sub(r"(?<=[<,] )\b\w+_detail::\w+(?:<[^<>]*>)? (?=\w+[,>])|(?<=<)\w+_detail::\w+(?:<[^<>]*>)? (?=\w+[,>])", "class ", text)
    text = re.sub(r"(class \w+) = \w+_detail::\w+", r"\1 = default_type", text)
    text = re.sub(r" requires ?\((?:[^()]|\([^()]*\))*_detail::(?:[^()]|\([^()]*\))*\)", "", text)
    text = re.sub(r" requires [^()]*_detail::(?:[^(),;]|\([^()]*\))*?(?= [\w:]+[ &(*])", "", text)
    return re.sub(r"\b(?:\w+_detail|os|base)::", "", text)


def head(text):
    """A declaration without its body."""
    text = re.sub(r"//[^\n]*", "", text)
    depth = 0
    for at, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        is_value = c == "{" and re.match(r"(?!\s*template\b)[^()]* = ", text[:at], re.S)  # of a field
        if depth == 0 and not is_value and (c in "{;" or (c == ":" and re.search(r"\)[\w\s]*$", text[:at]) and text[at + 1:at + 2] == " ")):
            text = text[:at]
            break
    text = re.sub(r"#[^\n]*\n", "", text)
    text = re.sub(r"\[\[(?!nodiscard|noreturn).*?\]\] ?|\bTHRUM_[A-Z_]+\b ?|^\s*(?:inline|friend|explicit\(false\)) ", "", text)
    text = re.sub(r"\[\[nodiscard\(.*?\)\]\]", "[[nodiscard]]", " ".join(text.split())).rstrip(" =")
    # Bases that are private to the library: their members are shown as the class's own.
    text = re.sub(r"^((?:template <.*?> )?(?:class|struct) [\w:]+) : .*_detail::.*", r"\1", text)
    return without_private(text.replace("( ", "("))


class Reference:
    def __init__(self):
        text = "#include <thrum/implementation.hpp>\n" + "".join(
            f"#if __has_include(<{wants}>)\n#include <{header}>\n#endif\n" for header, wants in BESIDE.items())
        self.tree = syntax_tree.Tree("reference.cpp", {"reference.cpp": text})
        self.kinds = self.tree.CursorKind
        self.sources = {}
        self.entries = {}  # qualified name: [(declarations, comment, members)]
        self.where = {}  # qualified name: header, from include/thrum
        self.labels = {}  # a member's declaration: its heading
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
            of = cursor.semantic_parent.spelling  # the definition of a member
            if (cursor.kind not in (k.CLASS_DECL, k.STRUCT_DECL) or cursor.access_specifier.name != "PUBLIC"
                    or "::".join((*path, of)) not in self.entries):
                return
            path = (*path, of)
        self.add(cursor, path)

    def add(self, cursor, path):
        k, source = self.kinds, self.source(cursor)
        if source is None or not cursor.spelling or cursor.spelling.startswith("operator") or "deduction guide" in cursor.spelling:
            return
        is_class = cursor.kind in (k.CLASS_DECL, k.STRUCT_DECL, k.CLASS_TEMPLATE)
        if (is_class or cursor.kind == k.ENUM_DECL) and not cursor.is_definition():
            return
        header = pathlib.Path(cursor.location.file.name).resolve().relative_to(include).as_posix()
        is_private = path and path[0] in PUBLIC_BY_HEADER and header.startswith("detail/")
        if is_private or source.line(cursor.extent.start.offset) in source.bodies:
            return
        name = "::".join((*path, cursor.spelling))
        text, comment, together = self.described(cursor, source)
        if path and path[0] in PUBLIC_BY_HEADER and re.search(r"\bsched::", text):
            return  # for the library
        file, line, said = self.before
        if not comment and together and (file, line) == (header, source.line(cursor.extent.start.offset) - 1):
            comment = said
        self.before = (header, source.line(cursor.extent.end.offset), comment)
        members = self.members(cursor, set()) if is_class else self.enumerators(cursor, source) if cursor.kind == k.ENUM_DECL else []
        known = self.entries.setdefault(name, [])
        self.where.setdefault(name, header)
        if any(text in declarations for declarations, _, _ in known) or "attributes_last" in text:
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
            if re.search(r"^For the library|Programs have no need of|^Says of a value that is none", " ".join(comment)):
                continue
            if re.search(r"\bsched::|= delete$|^void fail\(|\btake_inside\(", text) or (
                    "io_result " in text and cursor.spelling != "descriptor"):
                continue
            if child.kind in (k.CLASS_DECL, k.STRUCT_DECL) and not child.is_definition():
                continue  # it has an entry of its own
            if child.kind in (k.CLASS_DECL, k.STRUCT_DECL) and (inner := self.members(child, seen)):
                text += "".join([" {\n", *(f"  {each};\n" for texts, _ in inner for each in texts), "}"])
            is_constructor = child.kind == k.CONSTRUCTOR or child.spelling.split("<")[0] == cursor.spelling
            self.labels.setdefault(text, "constructor" if is_constructor else child.spelling.split("<")[0])
            if not comment and found:
                found[-1][0].append(text)
            else:
                found.append(([text], comment))
        return found

    def inherited(self, base, name, seen):
        """The members of a private base under the name of the class."""
        found = []
        for declarations, comment in self.members(base, seen):
            kept = []
            for each in declarations:
                if not re.search(r"adopt_reference|operator=\(|core_type", each):
                    kept.append(re.sub(rf"\b{base.spelling}\(", f"{name}(", each))
                    self.labels.setdefault(kept[-1], self.labels[each])
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
    text = re.sub(r"\s*Needs\s+<thrum/detail/[^>]*>,\s+which\s+<thrum.hpp>\s+includes\.", "", "\n".join(lines))
    for line in text.split("\n"):
        indented = line.startswith("  ")
        if indented != code:
            out += ["```text"] if indented else ["```", ""]
            code = indented
        out.append(line if code else "".join(map(plain, re.split(r"(`[^`]+`)", line))))
    return "\n".join(out + (["```"] if code else []))


def page_of(header):
    return next(page for page, (_, pattern) in PAGES.items() if re.match(pattern, house.short_name(header)))


def anchor(name):
    return re.sub(r"\W+", "-", name).strip("-").lower()


def public_headers():
    """The public header that reaches each private one soonest, and those in <thrum.hpp>; all from include/thrum."""
    asks = {}
    for path in include.rglob("*.hpp"):
        bodies = set(house.lines_of_bodies(path.read_text()))
        lines = [line for i, line in enumerate(path.read_text().split("\n")) if i not in bodies]
        asks[path.relative_to(include).as_posix()] = re.findall(r"^#include <thrum/(.*)>", "\n".join(lines), re.M)
    asks.pop("implementation.hpp")
    nearest = {}
    for public in sorted((each for each in asks if not each.startswith("detail/")), key=lambda each: (each.count("/"), each)):
        reached, level = {public}, [public]
        for distance in range(99):
            for each in level:
                if each not in nearest or nearest[each][0] > distance:
                    nearest[each] = (distance, public)
            level = sorted({next_one for each in level for next_one in asks.get(each, ())
                            if next_one.startswith("detail/")} - reached)
            reached |= set(level)
            if not level:
                break
    umbrella, more = set(), set(re.findall(r"^#include <thrum/(.*)>", (include.parent / "thrum.hpp").read_text(), re.M))
    while more:
        umbrella |= more
        more = {each for known in more for each in asks.get(known, ())} - umbrella
    return {each: public for each, (_, public) in nearest.items()}, umbrella


def folded(declaration):
    """A declaration, its template's head and its constraint on lines of their own if it is long."""
    if len(declaration) <= 90 or "\n" in declaration:
        return declaration + ";"
    depth, at = 0, declaration.find("<") if declaration.startswith("template <") else -1
    while at > 0:
        depth += (declaration[at] == "<") - (declaration[at] == ">" and declaration[at - 1] != "-")
        at += 1
        if depth == 0:
            declaration = declaration[:at] + "\n" + declaration[at:].lstrip()
            break
    return declaration.replace(" requires", "\n  requires") + ";"


def short(declaration):
    """A member as the synopsis has it: without the template's head, constraints and attributes."""
    text = folded(declaration.split(" {\n")[0] + " " * 90)[:-1].rstrip().split("\n")
    text = text[1] if text[0].startswith("template <") and len(text) > 1 else text[0]
    text = re.sub(r"^requires ?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) ?", "", text.strip())
    return re.sub(r"\[\[\w+\]\] ", "", text.strip()) + ";"


def is_class(declaration):
    return re.match(r"(?:template <.*> )?(?:class|struct) ", declaration)


class Examples:
    """What shows how a class is used, of the programs that the tests compile and run."""

    def __init__(self):
        self.paragraphs, self.programs = [], []
        for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            for block in re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.M | re.S):
                if page.name == "examples.md":
                    body = re.split(r"int main\(\) \{\n(?:  using namespace .*\n)?", block)[1]
                    body = re.sub(r"^  return thrum::(?:run|testing::bubble)\(.*\n|\n  \}\);\n\}\n\Z", "", body, flags=re.M)
                    self.paragraphs += body.split("\n\n")
                elif "int main() {" in block and '#include "' not in block:
                    self.programs.append(block)

    def of(self, name):
        uses = re.compile(rf"\bthrum::{name}\b")
        for each in self.paragraphs:
            if uses.search(each):
                return textwrap.dedent(each).strip("\n")
        return min(filter(uses.search, self.programs), key=len, default="").strip("\n")


def entry(name, entries, examples, labels):
    """A name's part of its page, below the heading."""
    out = []
    of = name.split("::")[-1]
    for declarations, comment, members in entries:
        out += ["```c++", *map(folded, declarations), "```", "", prose(comment), ""]
        if is_class(declarations[0]) and members:
            declared = [each for inner, _ in members for each in inner]
            synopsis = dict.fromkeys(map(short, sorted(declared, key=lambda each: labels[each] != "constructor")))
            out += ["```c++", re.sub(r"\[\[\w+\]\] ", "", declarations[0]) + " {", *(f"  {each}" for each in synopsis), "};", "```", ""]
        if is_class(declarations[0]) and (example := examples.of(name)):
            out += ["Example:", "", "```c++", example, "```", ""]
        if not is_class(declarations[0]):  # the values of an enumeration
            if members:
                out += ["| value | |", "| --- | --- |"]
                out += [f"| `{inner[0]}` | {prose([' '.join(said)])} |" for inner, said in members] + [""]
            continue
        together = {}
        known = {each: i for i, (inner, _) in enumerate(members) for each in inner}
        for i, (inner, said) in enumerate(members):
            if any(known[each] != i for each in inner):
                continue  # a base has it, too
            together.setdefault(labels[inner[0]], []).append((inner, said))
        for member, all_of_it in sorted(together.items(), key=lambda each: each[0] != "constructor"):
            sign = "".join(OPERATORS.get(c, c) for c in member)
            title = of if member == "constructor" else member
            out += [f"### {plain(f'{of}::{title}')} {{#{anchor(name)}-{anchor(sign)}}}", ""]
            for inner, said in all_of_it:
                out += ["```c++", *map(folded, inner), "```", "", prose(said), ""]
    return out


def order(page, names):
    """The names of a page in the order of use."""
    first = FIRST[page].split()

    def place(name):
        known = [i for i, each in enumerate(first) if name == each or each.endswith("*") and name.startswith(each[:-1])]
        return (known[0] if known else len(first), name.lower())
    return sorted(names, key=place)


def write(folder):
    """The pages into a folder; the names that they have."""
    reference, examples = Reference(), Examples()
    public, umbrella = public_headers()
    pages = {page: [] for page in FIRST}
    for name in reference.entries:
        pages[page_of(reference.where[name])].append(name)
    index = ["# Reference", "", "Every public name, its declaration, and what the headers say about it. The namespace is `thrum`. A "
             "synopsis leaves out heads of templates and constraints; the members below it have them. The tests compile and run the "
             "examples.", ""]
    folder.mkdir(parents=True, exist_ok=True)
    for page, names in pages.items():
        title = PAGES[page][0]
        out = [f"# {title}", ""]
        index += [f"## {title}", "", "| name | |", "| --- | --- |"]
        for name in order(page, names):
            entries = reference.entries[name]
            header = public.get(reference.where[name], reference.where[name])
            # An instance of its own: `net::conn` and `conn` would else be one heading.
            out += [f"## {name} {{#{anchor(name)}}}", "", f"`#include <thrum/{header}>`"
                    + (", which is in `<thrum.hpp>`" if header in umbrella else ""), "", *entry(name, entries, examples, reference.labels)]
            first = re.split(r"(?<=\.) (?=[A-Z])|(?<=[:;]) ", " ".join(entries[0][1]))[0]
            first = re.sub(r"[:;]$", ".", first)
            index.append(f"| [{name}]({page}.md#{anchor(name)}) | {prose([first])} |")
        index.append("")
        (folder / f"{page}.md").write_text("\n".join(out) + "\n")
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
