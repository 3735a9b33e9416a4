#!/usr/bin/env python3
# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""What tools/check_orders.py must refuse, and what it must not."""
import io
import pathlib
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atomics  # noqa: E402
import check_orders  # noqa: E402
import syntax_tree  # noqa: E402

# What each source begins with. It is left out of the line numbers.
HEAD = """\
#include <atomic>
#include <thrum/detail/base/order.hpp>
#include <thrum/detail/base/relaxed.hpp>
namespace {
using namespace thrum::base::orders;
template <class T>
using atomic = std::atomic<T>;
struct box;
struct traits {
  template <class T>
  using atomic = std::atomic<T>;
  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
  static void light_fence() noexcept {}
  static void heavy_fence() noexcept {}
  static void heavy_fence_for(box&) noexcept {}
};
"""
PLAIN = """
struct box {
  std::atomic<int> word{0};
  std::atomic<int> other{0};
  atomic<bool> flag{false};
  int value = 0;
};
"""

# A pair, in plain code and in a template, that the cases below break in one place each.
PAIR = PLAIN + """
inline void put(box& b) {
  b.value = 1;
  b.word.store(1, release);  // [t.word >] release: value; sees: get
}
inline int get(box& b) {
  // [t.word <] acquire: value
  return b.word.load(acquire) == 1 ? b.value : 0;
}
"""
QUEUE = """
template <class T, class Traits>
struct queue {
  template <class U>
  using atomic = typename Traits::template atomic<U>;
  atomic<int> head{0};
  atomic<T*> slots[4]{};
  void put(T* item) {
    slots[0].store(item, relaxed);  // relaxed: published by head
    head.store(1, release);         // [t.head >] release: the slot
    BODY
  }
  T* get() {
    return head.load(acquire) == 0 ? nullptr  // [t.head <] acquire: the slot
                                   : slots[0].load(relaxed);  // relaxed: published by head
  }
};
"""
DEKKER = PLAIN + """
// Fences of [t.way]: ask, answer.
inline bool ask(box& b) {
  b.word.store(1, relaxed);  // relaxed: ordered by the fence of [t.way]
  traits::light_fence();     // [t.way =] the word before the look
  return b.other.load(relaxed) != 0;  // relaxed: ordered by the fence of [t.way]
}
inline bool answer(box& b) {
  b.other.store(1, relaxed);  // relaxed: ordered by the fence of [t.way]
  traits::heavy_fence();      // [t.way =] the other before the look
  return b.word.load(relaxed) != 0;  // relaxed: ordered by the fence of [t.way]
}
"""
TOTAL = PLAIN + """
inline bool one(box& b) {
  b.word.exchange(1, seq_cst);          // [t.all =] before the look at other
  return b.other.load(seq_cst) != 0;    // [t.all =] after the word
}
inline bool two(box& b) {
  b.other.exchange(1, seq_cst);         // [t.all =] before the look at word
  return b.word.load(seq_cst) != 0;     // [t.all =] after the other
}
"""
COUNT = PLAIN + """
inline bool drop(box& b) {
  return b.word.fetch_sub(1, acq_rel) == 1;  // [t.count <>] acq_rel, with itself: every use
}
"""
SWAP = PLAIN + """
inline bool take(box& b) {
  int none = 0;
  // [t.swap <>] acq_rel: what the last one did; acquire: the owner
  return b.word.compare_exchange_strong(none, 1, acq_rel, acquire);
}
"""


def changed(source, *pairs):
    for old, new in pairs:
        assert old in source, old
        source = source.replace(old, new)
    return source


def plain(statement, comment=""):
    return PAIR + f"inline int more(box& b) {{\n  {comment}\n  {statement}\n  return 0;\n}}\n"


def body(statement):
    return changed(QUEUE, ("BODY", statement))


# name of the case: (the source, what is said of it; nothing: it is right)
CASES = {
    # -- what is right --
    "a release and an acquire": (PAIR, None),
    "in a template": (body(""), None),
    "an asymmetric fence": (DEKKER, None),
    "an asymmetric fence for one thread": (changed(DEKKER, ("heavy_fence();     ", "heavy_fence_for(b); ")), None),
    "a total order": (TOTAL, None),
    "a count that pairs with itself": (COUNT, None),
    "a compare-exchange with two orders": (SWAP, None),
    "orders by their long names": (changed(
        PAIR, ("release)", "std::memory_order_release)"), ("acquire)", "std::memory_order::acquire)")), None),
    "a comment over two lines": (plain("b.other.store(1, relaxed);",
                                       "// relaxed:\n  // nobody else looks at it"), None),
    "a do-while": (plain("int n = 0;\n  // relaxed: tried again each time\n  do {\n    ++n;\n"
                         "  } while (!b.other.compare_exchange_weak(n, 1, relaxed, relaxed));"), None),
    "a weak compare-exchange, and the load before it": (plain(
        "int n = b.other.load(relaxed);\n"
        "  while (!b.other.compare_exchange_weak(n, 1, release, relaxed)) {}\n  b.other.load(acquire);",
        "// [t.other >] release: all; [t.other <] acquire: all"), None),
    "a type that says why relaxed is enough": (PAIR + "inline thrum::base::hint<int> wish{0};\n"
                                               "inline int more() {\n  wish.set(1);\n  return wish.get();\n}\n", None),
    "a pointer to an atomic": (plain("auto* p = &b.other;\n  p->store(1, relaxed);  // relaxed: read by nobody"),
                               None),
    # -- an order that is not what its tag says --
    "a release weakened beside its tag": (changed(PAIR, ("store(1, release)", "store(1, relaxed)")),
                                          "[t.word >] without an access"),
    "an acquire weakened beside its tag": (changed(PAIR, ("load(acquire)", "load(relaxed)")),
                                           "[t.word <] without an access"),
    "an acq_rel weakened to release": (changed(COUNT, ("(1, acq_rel)", "(1, release)")),
                                       "fetch_sub is release, but [t.count <>] says acq_rel"),
    "a seq_cst weakened to acquire": (changed(TOTAL, ("b.other.load(seq_cst)", "b.other.load(acquire)")),
                                      "load is acquire, but [t.all =] says seq_cst"),
    "the order of a failure weakened": (changed(SWAP, ("acq_rel, acquire)", "acq_rel, relaxed)")),
                                        "relaxed without `relaxed:`"),
    "a seq_cst store": (changed(TOTAL, ("b.word.exchange(1, seq_cst)", "b.word.store(1, seq_cst)")),
                        "make it an exchange"),
    "a fence weakened": (changed(DEKKER, ("light_fence();    ", "fence(release);")),
                         "fence is release, but [t.way =] says seq_cst"),
    "weakened in a template": (changed(body(""), ("head.store(1, release)", "head.store(1, relaxed)")),
                               "[t.head >] without an access"),
    "weakened beside a reason of another access": (changed(
        PAIR, ("b.value = 1;", "b.other.store(2, relaxed);  // relaxed: read by nobody else"),
        ("store(1, release)", "store(1, relaxed)")), "[t.word >] without an access"),
    # -- tags --
    "no tag": (changed(PAIR, ("// [t.word <] acquire: value", "// acquire: value")),
               "acquire without a bracket of its own"),
    "a tag without a side": (changed(PAIR, ("[t.word >]", "[t.word]")), "release without a bracket of its own"),
    "both sides at one access": (changed(PAIR, ("[t.word >] release", "[t.word >] [t.word <] release")),
                                 "[t.word <] without an access"),
    "the other side missing": (changed(PAIR, ("return b.word.load(acquire)", "return b.other.load(relaxed)"),
                                       ("[t.word <] acquire: value", "relaxed: read by nobody else")),
                               "[t.word] is seen nowhere"),
    "a tag of another pair": (PAIR + changed(PAIR, ("struct box", "struct tin"), ("box&", "tin&"),
                                             ("word", "mark"), ("t.mark >", "t.word >"), ("other", "rest")),
                              "has only one side on `mark`"),
    "one tag for two accesses": (plain("b.other.store(1, release);\n  b.word.store(2, release);",
                                       "// [t.word >] release: both"),
                                 "release without a bracket of its own"),
    "a tag far from any access": (PAIR + "// [t.word >] publishes\ninline int nothing() { return 0; }\n",
                                  "[t.word >] without an access"),
    "a reference to a tag that is none": (PAIR + "// as with [t.gone]\n",
                                          "[t.gone] refers to a tag that no access has"),
    "one side of a total order": (changed(PAIR, ("store(1, release)", "store(1, seq_cst)"),
                                          ("[t.word >]", "[t.word =]")),
                                  "[t.word =] occurs once"),
    # -- reasons --
    "relaxed without a reason": (plain("b.other.store(1, relaxed);"), "relaxed without `relaxed:`"),
    "relaxed beside what the type says": (PAIR + "inline thrum::base::hint<int> wish{0};\n"
                                          "inline void more() { wish.store(1, relaxed); }\n",
                                          "relaxed without `relaxed:`"),
    "a relaxed success of a weak compare-exchange": (plain(
        "int n = 0;\n  while (!b.other.compare_exchange_weak(n, 1, relaxed, relaxed)) {}"), "relaxed without `relaxed:`"),
    # -- orders that nobody sees --
    "a conversion of a hint": (PAIR + "inline thrum::base::hint<int> wish{0};\ninline int more() { return wish; }\n",
                               "operator int of an atomic hides its order"),
    "++": (plain("++b.other;"), "operator++ of an atomic hides its order"),
    "|=": (plain("b.other |= 1;"), "operator|= of an atomic hides its order"),
    "an assignment": (plain("b.other = 1;"), "operator= of an atomic hides its order"),
    "a conversion": (plain("int n = b.other;\n  return n;"), "operator int of an atomic hides its order"),
    "a condition": (plain("if (b.flag) return 1;"), "operator bool of an atomic hides its order"),
    "through a reference": (plain("auto& r = b.other;\n  r = 1;"), "operator= of an atomic hides its order"),
    "through a pointer": (plain("auto* p = &b.other;\n  (*p)++;"), "operator++ of an atomic hides its order"),
    "an operator by its name": (plain("b.other.operator++();"), "operator++ of an atomic hides its order"),
    "in a macro's argument": (PAIR + "#define KEEP(x) (x)\ninline void more(box& b) { KEEP(++b.other); }\n",
                              "operator++ of an atomic hides its order"),
    "a default order": (plain("b.other.store(1);"), "store without an order"),
    "one order for a compare-exchange": (plain(
        "int n = 0;\n  b.other.compare_exchange_strong(n, 1, acq_rel);", "// [t.word <>] x"), "needs both orders"),
    "an order behind a constant": (PAIR + "constexpr auto weak = std::memory_order_relaxed;\n"
                                   "inline void more(box& b) { b.other.store(1, weak); }\n",
                                   "the order is not written here"),
    "an order behind a parameter": (PAIR + "inline void more(box& b, std::memory_order o) { b.other.store(1, o); }\n",
                                    "the order is passed on"),
    "an order behind a condition": (plain("b.other.store(1, b.value ? relaxed : release);",
                                          "// [t.word >] release: value; relaxed: only a hint then"),
                                    "the order is not written here"),
    "an order behind a cast": (plain("b.other.store(1, static_cast<std::memory_order>(0));"),
                               "the order is not written here"),
    "an order behind a call": (PAIR + "inline std::memory_order which() { return relaxed; }\n"
                               "inline void more(box& b) { b.other.store(1, which()); }\n",
                               "the order is not written here"),
    "an order of that name that is another": (
        PAIR + "namespace wrong { constexpr auto release = std::memory_order_relaxed; }\n"
        "inline void more(box& b) {\n  b.word.store(1, wrong::release);  // [t.word >] release: value\n}\n",
        "the order is not written here"),
    "a builtin": (plain("__atomic_store_n(&b.value, 1, __ATOMIC_RELAXED);"), "use std::atomic's member functions"),
    "a free function": (plain("std::atomic_store(&b.other, 1);"), "use"),
    "an access in a macro": (PAIR + "#define LOOK(b) (b).other.load(relaxed)\n", "an access in a macro"),
    "an operator in a macro": (PAIR + "#define COUNT(b) ++(b).other\ninline void more(box& b) { COUNT(b); }\n",
                               "operator++ of an atomic hides its order"),
    # -- the same in templates, where the tree knows no types --
    "++ in a template": (body("++head;"), "the atomic head is used without a call"),
    "|= in a template": (body("head |= 1;"), "the atomic head is used without a call"),
    "an assignment in a template": (body("head = 1;"), "the atomic head is used without a call"),
    "an element in a template": (body("slots[1] = item;"), "is used without a call"),
    "a conversion in a template": (body("int n = head;\n    (void)n;"), "the atomic head is used without a call"),
    "a condition in a template": (body("if (head) return;"), "the atomic head is used without a call"),
    "a sum in a template": (body("(void)(head + 1);"), "the atomic head is used without a call"),
    "another's member in a template": (PLAIN + body("item->other = 1;"), "the atomic other is used without a call"),
    "a reference in a template": (PLAIN + body("auto& r = item->other;\n    r = 1;"),
                                  "the atomic other is used without a call"),
    "a function that takes atomics, in a template": (
        "template <class T>\nvoid look(const std::atomic<T>& a) {\n  a.load(relaxed);  // relaxed: read by nobody\n}\n"
        + body("look(head);"), None),
    "a default order in a template": (body("head.store(1);"), "store without an order"),
    "an order of the traits": (body("head.store(1, Traits::order);"), "store without an order"),
    "an untold order in a template": (body("item->other.load(acquire);"), "acquire without a bracket of its own"),
    # -- fences --
    "a light_fence removed": (changed(DEKKER, ("  traits::light_fence();     // [t.way =] the word before the look\n", "")),
                              "write once: Fences of [t.way]: answer."),
    "a fence without a name": (changed(DEKKER, ("the fence of [t.way]", "the fence")), "because of which fence"),
    "a fence of another function": (changed(DEKKER, ("return b.word.load(relaxed) != 0;  // relaxed: ordered by the "
                                                     "fence of [t.way]", "return b.word.load(relaxed) != 0;  // relaxed: "
                                                     "ordered by the fence of [t.way] in ask")), None),
    "a fence of a function that has none": (changed(DEKKER, ("return b.word.load(relaxed) != 0;  // relaxed: ordered by "
                                                             "the fence of [t.way]", "return b.word.load(relaxed) != 0;  "
                                                             "// relaxed: ordered by the fence of [t.way] in get")),
                                            "get has no fence of [t.way]"),
    "a light_fence removed, its comment left": (changed(DEKKER, ("traits::light_fence();     //", "//")),
                                                "[t.way =] without an access"),
    "a fence without a tag": (changed(DEKKER, ("// [t.way =] the other", "// the other")),
                              "seq_cst without a bracket of its own"),
    "fences without a list": (changed(DEKKER, ("// Fences of [t.way]: ask, answer.\n", "")),
                              "write once: Fences of [t.way]: answer, ask."),
    "one half of an asymmetric fence": (changed(DEKKER, ("heavy_fence()", "light_fence()")),
                                        "one half of an asymmetric fence only"),
    "a fence for one thread without a tag": (changed(DEKKER, ("heavy_fence();      // [t.way =] the", "heavy_fence_for(b);  // the")),
                                             "seq_cst without a bracket of its own"),
    # -- what the preprocessor leaves out --
    "left out: a default order": (PAIR + "#if 0\ninline void more(box& b) { b.other.store(1); }\n#endif\n",
                                  "store without an order"),
    "left out: no tag": (PAIR + "#if 0\ninline void more(box& b) { b.other.store(1, release); }\n#endif\n",
                         "release without a bracket of its own"),
    "left out: weakened": (PAIR + "#if 0\ninline void more(box& b) {\n  b.word.store(1, relaxed);  // [t.word >] all\n"
                           "}\n#endif\n", "[t.word >] without an access"),
}


class CheckOrders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All cases as files of one translation unit: the standard's headers are read once."""
        folder = syntax_tree.root / "build"
        cls.files = {name: str(folder / f"case_{i}.hpp") for i, name in enumerate(CASES)}
        texts = {}
        for i, (name, (source, _)) in enumerate(CASES.items()):
            space = HEAD.replace("namespace {", f"namespace case_{i} {{")
            texts[cls.files[name]] = space + textwrap.dedent(source) + "}\n"
        main = str(folder / "cases.cpp")
        includes = "".join(f'#include "{file}"\n' for file in texts)
        tree = syntax_tree.Tree(main, {main: includes, **texts})
        cls.finder = atomics.Finder(tree, texts)

    def test_cases(self):
        for name, (_, said) in CASES.items():
            with self.subTest(name):
                errors, accesses, _ = check_orders.examine(self.finder, [self.files[name]])
                found = [f"{line}: {text}" for _, line, text in errors]
                if said is None:
                    self.assertEqual(found, [])
                    self.assertGreater(accesses, 0)
                else:
                    self.assertTrue(any(said in one for one in found), f"{said!r} not in {found}")

    def test_the_aliases_of_the_orders_are_what_they_are_called(self):
        text = (syntax_tree.root / "include/thrum/detail/base/order.hpp").read_text()
        for order in atomics.ORDERS:
            self.assertIn(f"inline constexpr std::memory_order {order} = std::memory_order_{order};", text)


if __name__ == "__main__":
    out = io.StringIO()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(CheckOrders)
    if not unittest.TextTestRunner(stream=out).run(suite).wasSuccessful():
        print(out.getvalue())
        sys.exit(1)
    print(f"check_orders_test: {len(CASES)} sources, each judged as it must be")
