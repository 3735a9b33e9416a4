#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Public declarations have a comment: `///` directly above, or `///<` behind.

Looked at is what a user's program may name: namespaces, classes and their public members in the
public headers, and of the private namespaces what public classes derive from. One comment may serve
several declarations that follow each other without an empty line. Enumerators are left to the
comment of their enum. What can mean one thing only needs none: copying, moving, destroying,
comparing, begin and end, deduction guides, what overrides, and the aliases that the standard's
requirements ask for.

It reads lines and brackets, not the language. `check_comments.py FILE...` looks at these only."""
import pathlib
import re
import sys

import house

root = pathlib.Path(__file__).resolve().parent.parent
include = root / "include/thrum"
ROOMS = ["sync", "chan", "select", "time", "context", "net", "io", "testing"]
PRIVATE_NAMESPACE = re.compile(r"sched|std|\w+_detail")
# The standard says what these are.
PLAIN = re.compile(
    r"operator\s*(?:==|!=|<=>)|(?<!void )\b(?:begin|end)\(\)"
    r"|^using (?:\w+_type|\w+_category|pointer|reference|iterator|duration|period|rep)\s*="
)
NOT_DECLARED_HERE = re.compile(
    r"^(?:friend\b|static_assert\b|using namespace\b|using [\w:]+;?$|extern\b|namespace \w+ =)"
)
FORWARD = re.compile(
    r"(?:template <.*?> )?(?:class|struct|union|enum|enum class) \w+(?: : [\w:]+)?;$"
)
# They, too, have classes whose members are a user's: `class chan : public chan_detail::x`.
PUBLIC_BASE = re.compile(r"\bpublic (?:sched|\w+_detail)::(\w+)")


def blank(text, pattern):
    """The text with what matches replaced by spaces, so that every place stays where it is."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.M | re.S)


class Scope:
    def __init__(self, kind, name, public):
        self.kind, self.name, self.public = kind, name, public
        self.hidden = False
        self.documented_to = -1  # the last line of a group that has a comment


class Header:
    def __init__(self, path, bases):
        self.bases = bases
        # What a body defines has its comment where it is declared.
        self.lines = house.declarations(path.read_text()).split("\n")
        text = blank("\n".join(self.lines), r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*')
        self.code = blank(text, r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*")
        self.bare = []  # (line, text) of what has no comment
        self.seen = 0
        self.scopes = [Scope("namespace", "", True)]
        self.read()

    def line_of(self, place):
        return self.code.count("\n", 0, place)

    def closing(self, place):
        """The bracket that closes the one at `place`."""
        depth = 0
        for at in range(place, len(self.code)):
            depth += (self.code[at] in "({[") - (self.code[at] in ")}]")
            if depth == 0:
                return at
        raise ValueError(f"a bracket in line {self.line_of(place) + 1} is never closed")

    def read(self):
        code, at, start = self.code, 0, None
        while at < len(code):
            c = code[at]
            if start is None:
                if c == "}":
                    self.scopes.pop()
                elif not c.isspace() and c != ";":
                    start = at
                    continue
                at += 1
            elif c in "([":
                at = self.closing(at) + 1
            elif c == ";":
                self.declaration(start, at)
                at, start = at + 1, None
            elif c == ":" and code[start:at].strip() in ("public", "private", "protected"):
                self.scopes[-1].public = code[start:at].strip() == "public"
                at, start = at + 1, None
            elif c == "{":
                at, start = self.brace(start, at)
            else:
                at += 1

    def brace(self, start, at):
        """An opening brace behind what began at `start`; where to go on."""
        head = " ".join(self.code[start:at].split())
        plain = re.sub(r"^(?:template <.*> )?(?:requires .*?\) )?", "", head)
        plain = re.sub(r"\[\[.*?\]\] |alignas\(.*?\) ", "", plain)
        if plain.startswith(("namespace", "inline namespace")):
            names = re.findall(r"\w+", plain.replace("inline ", ""))[1:]
            public = self.scopes[-1].public and not any(map(PRIVATE_NAMESPACE.fullmatch, names))
            self.scopes.append(Scope("namespace", "", public))
            return at + 1, None
        kind = re.match(r"(class|struct|union|enum)\b(?: \[\[.*?\]\])?(?: class)? ?([\w:]*)", plain)
        if kind and "=" not in plain:
            public = self.declaration(start, at) or kind[2] in self.bases
            if kind[1] == "enum":
                return self.closing(at) + 1, None
            self.scopes.append(Scope("class", kind[2], public and kind[1] != "class"))
            self.scopes[-1].hidden = not public  # so is all that is in it
            return at + 1, None
        end = self.closing(at)
        behind = re.match(r"\s*(.)", self.code[end + 1 :])
        if re.search(r"requires(?: ?\([^()]*\))?$", head) or (behind and behind[1] in ",{;)"):
            return end + 1, start  # a requires-expression, or an initialiser
        self.declaration(start, at, end)
        return end + 1, None

    def declaration(self, start, head_end, end=None):
        """Notes what has no comment. Whether others may name it."""
        scope = self.scopes[-1]
        if not scope.public or scope.hidden:
            return False
        first, last = self.line_of(start), self.line_of(head_end)
        text = " ".join(self.code[start:head_end].split())
        if NOT_DECLARED_HERE.search(text) or FORWARD.match(text + self.code[head_end]):
            return True
        if scope.kind == "namespace" and re.match(r"[^(]*\w(?:<[\w, ]+>)?::~?\w+ ?\(", text):
            return True  # the definition of a member
        self.seen += 1
        above = first - 1
        while above >= 0 and self.lines[above].lstrip().startswith("#"):
            above -= 1
        if self.lines[above].lstrip().startswith("///") or above == scope.documented_to:
            scope.documented_to = self.line_of(end if end is not None else head_end)
        elif any("///<" in line for line in self.lines[first : last + 1]):
            pass
        elif not self.says_itself(text, scope):
            self.bare.append((first + 1, text))
        return True

    def says_itself(self, text, scope):
        if re.search(r"= (?:default|delete)$", text) or PLAIN.search(text):
            return True
        if re.search(r"\boverride$", text) or text.startswith("template <> "):
            return True  # said where it is declared for the first time
        if re.match(r"~\w+\(\)", text) or re.search(r"\) ?-> ?\w+<", text):
            return True  # a destructor that only gives back; a deduction guide
        same = re.escape(scope.name) + r"(?:<[^()]*>)?"
        return scope.kind == "class" and re.search(
            rf"\b(?:{scope.name}|operator=)\((?:const )?{same}(?:&&?)? ?\w*\)", text) is not None


def headers():
    if len(sys.argv) > 1:
        return [pathlib.Path(name) for name in sys.argv[1:]]
    rooms = [path for room in ROOMS for path in house.headers_of(room)]
    # What runtime_parts.hpp defines has its comment where it is declared.
    return sorted({*include.glob("*.hpp"), *(include / "detail/start").glob("*.hpp"), *rooms}
                  - {include / "detail/start/runtime_parts.hpp"})


bases = set().union(*(PUBLIC_BASE.findall(path.read_text()) for path in headers()))
seen = 0
bare = 0
for path in headers():
    try:
        header = Header(path, bases)
    except (ValueError, IndexError) as why:
        sys.exit(f"check_comments: {path}: cannot be read: {why}; both branches of an #if are "
                 "read, so each needs its brackets in pairs")
    seen += header.seen
    for line, text in header.bare:
        bare += 1
        print(f"check_comments: {path}:{line}: wants a /// comment: {text[:90]}")
if bare:
    sys.exit(1)
print(f"check_comments: {seen} public declarations have a comment")
