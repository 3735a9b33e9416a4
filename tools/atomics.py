# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Finds each access to an atomic, and each fence, with the orders that are written there.

On the syntax tree: what is called on a std::atomic, and in templates what is called by the name of
such a function on an object of unknown type. An expression that is an atomic, or in a template a
member that is one elsewhere, may only be called so, referred to, or have its address taken: then no
operator and no conversion hides an order. What the tree does not hold (the preprocessor left it out)
is read as text, by the same names.

Not seen: assembly; what a template or a lambda with `auto&` does with an atomic as its argument; a pointer
to a member function; operators in code that the preprocessor left out; and a member of unknown type whose
name also belongs to something plain.
"""
import re


ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
CALLS = re.compile(r"load|store|exchange|compare_exchange_(?:weak|strong)"
                   r"|fetch_(?:add|sub|and|or|xor|min|max)|test_and_set")
FENCES = re.compile(r"(?:atomic_(?:thread|signal)_)?fence|light_fence|heavy_fence(?:_for)?")
HALVES = ("light_fence", "heavy_fence", "heavy_fence_for")
# The types of base/relaxed.hpp are atomics whose own calls need no order.
RELAXED = r"figure|shared_figure|hint|set_once|under_lock|one_writer"
ATOMIC = re.compile(rf"^(?:const |volatile )*(?:typename )?[\w:\- ]*?\b(?:(?:__)?atomic(?:_ref|_base)?|{RELAXED})<.*>$")
CLASSES = {"atomic", "__atomic_base", "__atomic_float", "atomic_ref", "__atomic_ref",
           "__atomic_base_impl", "atomic_flag"}
# Calls whose memory order is not written, or that have none.
BY_NAME = re.compile(r"\b(__(?:atomic|sync|c11_atomic)_\w+|(?:std::)?atomic_(?!thread_fence|signal_fence)\w+"
                     r"|Interlocked\w+)\s*[(<]|\b(std::atomic_flag)\b")
WORD = re.compile(r"\w+")
ORDER = re.compile(r"\b(?:memory_order(?:_|::))?(relaxed|acquire|release|acq_rel|seq_cst)\b(?!\()")
TEXT_CALL = re.compile(rf"(?:\.|->)({CALLS.pattern})\s*\(|\b({FENCES.pattern})\s*\(")


class Access:
    def __init__(self, file, first, last, name, target, orders, function):
        self.file, self.first, self.last = file, first, last  # the lines of the call, from 0
        self.name, self.target, self.function = name, target, function
        self.orders = orders  # as written; of a compare-exchange both

    def is_fence(self):
        return FENCES.fullmatch(self.name) is not None

    def reads(self):
        return self.name != "store"

    def writes(self):
        return self.name != "load"

    def order(self):
        return "seq_cst" if self.name in HALVES else self.orders[0]


def split_comments(text):
    """Per line: the code with strings blanked, the comment behind it, and the comment's column."""
    lines = []
    for line in re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text,
                       flags=re.S).split("\n"):
        bare = re.sub(r'"(?:\\.|[^"\\])*"|(?<!\w)\'(?:\\.|[^\'\\])+\'',
                      lambda m: " " * len(m[0]), line)
        at = bare.find("//")
        lines.append((bare, "", -1) if at < 0 else (bare[:at], line[at + 2:], at))
    return lines


class Finder:
    """Walks the tree. `texts`: the files that are looked at, by the name under which they were parsed."""

    def __init__(self, tree, texts):
        self.tree, self.K = tree, tree.CursorKind
        self.texts = texts
        self.bytes = {name: text.encode() for name, text in texts.items()}
        self.accesses, self.errors = {}, set()
        self.seen = set()  # (file, offset) of each name in the tree
        self.members, self.plain = set(), set()  # the names of atomics, and of other members
        self.held = []  # the declarations of the files
        for cursor in tree.unit.cursor.get_children():
            if tree.place(cursor.location)[0] in texts:
                self.held.append(cursor)
        for cursor in self.held:
            self.collect(cursor)
        self.members -= self.plain
        for cursor in self.held:
            self.walk(cursor, [], "")
        for name in texts:
            self.read_text(name)

    def error(self, cursor, text):
        file, line, _ = self.tree.place(cursor.location)
        self.errors.add((file, line, text))

    # -- types and names --

    def is_atomic(self, type_):
        spelling = type_.get_canonical().spelling.removesuffix("&").strip()
        return ATOMIC.match(spelling) is not None

    def is_order(self, type_):
        return type_.get_canonical().spelling.removeprefix("const ") in ("std::memory_order",
                                                                        "enum std::memory_order")

    def word_at(self, cursor):
        """The name that is written where a cursor points: libclang knows none in dependent code."""
        file, offset = self.word_place(cursor)
        if file not in self.bytes:
            return ""
        self.seen.add((file, offset))
        found = WORD.match(self.bytes[file][offset:offset + 80].decode(errors="ignore"))
        return found[0] if found else ""

    def is_called(self, cursor):
        file, _, end = self.tree.place(cursor.extent.end)
        return self.bytes.get(file, b"")[end:end + 1] == b"("

    def word_place(self, cursor):
        file, _, offset = self.tree.place(cursor.location)
        if cursor.kind in (self.K.MEMBER_REF_EXPR, self.K.DECL_REF_EXPR) and not cursor.spelling \
                and file in self.bytes:
            # Of a dependent member the location is where the whole expression begins.
            _, _, end = self.tree.place(cursor.extent.end)
            found = re.search(rb"\w+\Z", self.bytes[file][max(offset, end - 80):end])
            if found:
                offset = end - len(found[0])
        return file, offset

    def collect(self, cursor):
        kind = cursor.kind
        if kind in (self.K.FIELD_DECL, self.K.VAR_DECL):
            type_ = cursor.type
            while type_.get_canonical().get_array_size() >= 0:
                type_ = type_.get_canonical().element_type
            if self.is_atomic(type_):
                self.members.add(cursor.spelling)
            elif kind == self.K.FIELD_DECL:
                self.plain.add(cursor.spelling)
        for child in cursor.get_children():
            self.collect(child)

    # -- the walk --

    FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "FUNCTION_TEMPLATE", "CONSTRUCTOR", "DESTRUCTOR",
                 "CONVERSION_FUNCTION")

    def walk(self, cursor, parents, function):
        kind = cursor.kind
        if kind.name == "REQUIRES_EXPR":
            self.see(cursor)
            return  # is never run
        if kind.name in self.FUNCTIONS:
            function = cursor.spelling.split("<")[0]
        if kind == self.K.CALL_EXPR:
            self.call(cursor, function)
        if kind.is_expression():
            self.expression(cursor, parents)
        parents.append(cursor)
        for child in cursor.get_children():
            self.walk(child, parents, function)
        parents.pop()

    def see(self, cursor):
        self.word_at(cursor)
        for child in cursor.get_children():
            self.see(child)

    def call(self, cursor, function):
        callee = cursor.referenced
        children = list(cursor.get_children())
        if callee is None:
            if not children or children[0].kind not in (self.K.MEMBER_REF_EXPR, self.K.DECL_REF_EXPR):
                return
            name = self.word_at(children[0])
            is_member = children[0].kind == self.K.MEMBER_REF_EXPR
            if not (is_member and CALLS.fullmatch(name)) and not FENCES.fullmatch(name):
                return
        else:
            name = callee.spelling
            owner = callee.semantic_parent
            if owner is not None and owner.spelling in CLASSES:
                if callee.kind == self.K.CONSTRUCTOR:
                    return
                if not CALLS.fullmatch(name):
                    if name.startswith("operator"):
                        self.error(cursor, f"{name} of an atomic hides its order")
                    elif name not in ("is_lock_free", "notify_one", "notify_all"):
                        self.error(cursor, f"{name} of an atomic is not known to this check")
                    return
            elif owner is not None and owner.kind == self.K.NAMESPACE and re.match(
                    r"atomic_(?!thread_fence|signal_fence)", name):
                self.error(cursor, f"{name}: use the member function, with its order")
                return
            elif not FENCES.fullmatch(name):
                return
        if function in (name, f"{name}_for"):
            return  # a fence that is made of the same one
        arguments = children[1:]
        orders = [o for o in (self.order(a, function) for a in arguments) if o]
        needed = 2 if name.startswith("compare") else 0 if name.endswith(HALVES) else 1
        if len(orders) < needed:
            self.error(cursor, f"{name} without an order" if not orders
                       else f"{name} needs both orders, also the one of its failure")
            return
        if "passed" in orders and FENCES.fullmatch(name) and function == "fence":
            return
        if "passed" in orders:
            self.error(cursor, f"{name}: the order is passed on; only a function called `fence` may do that")
            return
        if "unknown" in orders:
            self.error(cursor, f"{name}: the order is not written here, but stands behind something else")
            return
        target = "" if FENCES.fullmatch(name) else self.target(children[0])
        file, first, start = self.tree.place(cursor.extent.start)
        _, last, _ = self.tree.place(cursor.extent.end)
        _, offset = self.word_place(children[0])
        if file in self.texts:
            self.accesses[file, offset, name] = Access(file, first - 1, last - 1, name, target, orders, function)

    def order(self, argument, function):
        """The order that an argument names, or None if it is no order."""
        while argument.kind in (self.K.UNEXPOSED_EXPR, self.K.PAREN_EXPR):
            inner = list(argument.get_children())
            if len(inner) != 1:
                break
            argument = inner[0]
        if not self.is_order(argument.type):
            return None
        if self.tree.place(argument.location)[0] is None:
            return None  # a default argument
        named = argument.referenced
        if argument.kind != self.K.DECL_REF_EXPR or named is None:
            return "unknown"
        if named.kind == self.K.PARM_DECL:
            return "passed"
        where = self.tree.place(named.location)[0] or ""
        name = named.spelling.removeprefix("memory_order_")
        if (where in self.texts and not where.endswith("base/order.hpp")) or name not in ORDERS:
            return "unknown"
        return name

    def target(self, callee):
        """The name of what a member function is called on."""
        inner = list(callee.get_children())
        if not inner:
            return "this"
        cursor = inner[0]
        while True:
            if cursor.kind in (self.K.MEMBER_REF_EXPR, self.K.DECL_REF_EXPR) and not cursor.spelling:
                return self.word_at(cursor)
            if cursor.kind == self.K.MEMBER_REF_EXPR:
                return cursor.spelling
            if cursor.kind == self.K.DECL_REF_EXPR:
                named = cursor.referenced
                if named is not None and named.kind == self.K.VAR_DECL and named.type.spelling.endswith("&"):
                    made = list(named.get_children())
                    if made and made[-1].kind.is_expression():
                        cursor = made[-1]
                        continue
                return cursor.spelling
            inner = list(cursor.get_children())
            if cursor.kind == self.K.CALL_EXPR and cursor.spelling:
                return cursor.spelling
            if not inner:
                return cursor.spelling or "?"
            cursor = inner[0]

    # -- what an atomic may be part of --

    def expression(self, cursor, parents):
        kind = cursor.kind
        if kind in (self.K.MEMBER_REF_EXPR, self.K.DECL_REF_EXPR):
            name = self.word_at(cursor)
            unknown = kind == self.K.MEMBER_REF_EXPR and not cursor.spelling \
                and name in self.members and not self.is_called(cursor)
        elif kind in (self.K.ARRAY_SUBSCRIPT_EXPR, self.K.UNARY_OPERATOR, self.K.CALL_EXPR):
            name, unknown = cursor.spelling, False
        else:
            return
        if not unknown and (kind == self.K.DECL_REF_EXPR and cursor.type.kind.name == "OVERLOAD"
                            or not self.is_atomic(cursor.type)):
            return
        if kind == self.K.CALL_EXPR and cursor.referenced is not None \
                and cursor.referenced.kind == self.K.CONSTRUCTOR:
            return
        above = [p for p in reversed(parents[-4:])
                 if p.kind not in (self.K.UNEXPOSED_EXPR, self.K.PAREN_EXPR)]
        parent = above[0] if above else None
        if parent is None or self.may_hold(parent, cursor, unknown):
            return
        self.error(cursor, f"the atomic {name or '?'} is used without a call that names an order")

    def may_hold(self, parent, cursor, unknown):
        kind = parent.kind
        if kind in (self.K.MEMBER_REF_EXPR, self.K.CXX_UNARY_EXPR, self.K.LAMBDA_EXPR,
                    self.K.INIT_LIST_EXPR, self.K.DECL_REF_EXPR, self.K.CXX_FOR_RANGE_STMT):
            return True
        if kind == self.K.ARRAY_SUBSCRIPT_EXPR:
            return True
        if kind == self.K.UNARY_OPERATOR:
            if parent.type.get_pointee().kind != self.tree.cindex.TypeKind.INVALID:
                return True  # its address; a pointer to atomics is none itself
            file, _, offset = self.tree.place(parent.extent.start)
            return self.bytes.get(file, b"")[offset:offset + 1] == b"&"
        if kind == self.K.CALL_EXPR:
            return True
        if kind == self.K.VAR_DECL:
            return parent.type.spelling.endswith(("&", "&&")) and not (
                unknown and not self.is_atomic(parent.type))
        if kind == self.K.RETURN_STMT:
            return True  # of what does not convert: looked at in call()
        return kind in (self.K.CONSTRUCTOR, self.K.COMPOUND_STMT)

    # -- what the tree does not hold --

    def read_text(self, name):
        lines = split_comments(self.texts[name])
        code = "\n".join(c for c, _, _ in lines)
        for found in BY_NAME.finditer(code):
            if "/sync/atomic_wait" in name:
                continue  # whose own functions are called so
            self.errors.add((name, code.count("\n", 0, found.start()) + 1,
                             f"{found[1] or found[2]}: use std::atomic's member functions"))
        for found in re.finditer(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", code, re.M):
            if TEXT_CALL.search(found[0]) or ORDER.search(found[0]):
                self.errors.add((name, code.count("\n", 0, found.start()) + 1,
                                 "an access in a macro: its order is not seen where it is used"))
        known = {offset for file, offset in self.seen if file == name}
        starts = [0]
        for line in self.texts[name].split("\n"):
            starts.append(starts[-1] + len(line.encode()) + 1)

        def offset_of(place):  # in the file; a line of `code` is as long as in the file up to the place
            line = code.count("\n", 0, place)
            return line, starts[line] + place - (code.rfind("\n", 0, place) + 1)

        for found in TEXT_CALL.finditer(code):
            group = 1 if found[1] else 2
            line, offset = offset_of(found.start(group))
            if offset in known or lines[line][0].lstrip().startswith("#"):
                continue
            word = found[1] or found[2]
            before = code[:found.start()].rstrip()
            if group == 2 and re.search(r"\b(?:void|inline)$", before):
                continue  # a declaration
            depth, end = 0, found.end() - 1
            for end in range(found.end() - 1, len(code)):
                depth += (code[end] == "(") - (code[end] == ")")
                if depth == 0:
                    break
            orders = ORDER.findall(code[found.end():end])
            needed = 2 if word.startswith("compare") else 0 if word in HALVES else 1
            if len(orders) < needed:
                self.errors.add((name, line + 1, f"{word} without an order"))
                continue
            target = re.search(r"(\w+)(?:\[[^\]]*\]|\([^()]*\))*$", code[:found.start()])
            self.accesses[name, offset, word] = Access(name, line, code.count("\n", 0, end), word,
                                                       target[1] if target and group == 1 else "", orders, "")
