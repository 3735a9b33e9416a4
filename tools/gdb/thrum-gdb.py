# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Goroutines in gdb, of a live process and of a core file. Load it with `gdb -x` or `source`; the
program needs debug information (-g).

info goroutines        a line for each that lives; * marks the selected one
goroutine ID COMMAND   runs a command of gdb there: goroutine 7 bt, goroutine 7 info locals
goroutine all COMMAND  the same in each of them
goroutine ID           selects it until the program goes on; then bt, up, print, ... mean it
goroutine none         back to the thread
ID may be the goroutine's name, and means all of that name then. Where several runtimes live, the
number of the runtime stands before the id, as in 2.7.

How it works. A goroutine that runs is its thread. One that is parked lends the selected thread its
frames: an unwinder says that the caller of the thread's newest frame, #0, has the registers that
switch_stack saved for the goroutine. Nothing is written, so it works in a core file too. A filter
keeps #0, which is the thread's own, out of backtraces; hence they begin at #1.

The core files of the kernel are complete. A gdb whose generate-core-file stops at the first page of
a mapping that it cannot read (13 does) writes one without the stacks where guards are made by
MADV_GUARD_INSTALL, and warns "Memory read failed for corefile section".
"""
import bisect
import contextlib
import itertools
import re

import gdb
import gdb.FrameDecorator
import gdb.unwinder

# What switch_stack saves, see include/thrum/detail/arch: names of the stack pointer and the program
# counter, offset of each register from the saved stack pointer, bytes of all.
PROCESSORS = {
    "i386:x86-64": ("rsp", "rip", {"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbx": 32, "rbp": 40,
                                   "rip": 48}, 56),
    "i386": ("esp", "eip", {"edi": 0, "esi": 4, "ebx": 8, "ebp": 12, "eip": 16}, 20),
    "aarch64": ("sp", "pc", {**{f"x{19 + i}": 64 + 8 * i for i in range(11)}, "pc": 152}, 160),
}
# Constants of stack_pool, which debug information leaves out.
COLOURS, COLOUR_STEP = 8, 128
# The words of g_state.hpp, where they are not the enumerator's own.
REASONS = {
    "chan_receive_nil": "chan receive (nil chan)", "chan_send_nil": "chan send (nil chan)",
    "wait_group_wait": "wait_group wait", "select_no_cases": "select (no cases)",
    "cond_wait": "condition wait", "shared_mutex_lock": "shared_mutex lock",
    "shared_mutex_lock_shared": "shared_mutex lock shared", "once_wait": "call_once",
    "task_group_wait": "task_group wait",
    "fork_join": "fork_join",
}

lent = None  # the parked goroutine whose frames a thread shows


def lend(what):
    global lent
    lent = what
    frame_filter.enabled = what is not None
    gdb.invalidate_cached_frames()


@contextlib.contextmanager
def restored():
    """Whatever is selected inside, afterwards it is what it was."""
    thread, frame, goroutine = gdb.selected_thread(), gdb.selected_frame(), lent
    try:
        yield
    finally:
        lend(goroutine)
        if thread.is_valid():
            thread.switch()
            if frame.is_valid():
                frame.select()


# ---- reading ------------------------------------------------------------------------------------

def plain(value):
    """What an atomic holds, whichever library it is of: its first member, and of that the first."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[next(f for f in value.type.strip_typedefs().fields() if hasattr(f, "bitpos"))]
    return value


def enumerator(value):
    return str(plain(value)).rsplit("::", 1)[-1]


def describe_caller(address):
    """The function that a call returns to at that address and, if known, where it begins."""
    text = gdb.execute(f"info symbol {address - 1:#x}", to_string=True)
    name = re.sub(r"( \[clone .*?\])?( \+ \d+)? in section .*", "", text.splitlines()[0])
    block, function = gdb.block_for_pc(address - 1), None
    while block is not None:
        block, function = block.superblock, block.function or function  # not what is inlined
    known = function is not None and function.line != 0
    return f"{name} at {function.symtab.filename}:{function.line}" if known else name


def processor(frame):
    name = frame.architecture().name()
    if name not in PROCESSORS:
        raise gdb.GdbError(f"thrum does not run on {name}.")
    return PROCESSORS[name]


def place(frame):
    """Tells the frames of all stacks apart; functions inlined into one frame share it."""
    sp, pc, _, _ = processor(frame)
    return int(frame.read_register(sp)), int(frame.read_register(pc))


def frames():
    frame = gdb.newest_frame()
    while frame is not None:
        yield frame
        frame = frame.older()


# ---- schedulers ---------------------------------------------------------------------------------

def variables(frame):
    with contextlib.suppress(RuntimeError):  # no debug information
        block = frame.block()
        while block is not None and not block.is_static and not block.is_global:
            yield from (s for s in block if s.is_argument or s.is_variable)
            block = None if block.function else block.superblock


def schedulers_behind(value):
    """The scheduler that a G, an M, a monitor or a creator belongs to."""
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        value = value.referenced_value()
    part = re.match(r"thrum::(?:\w+::)?sched::(goroutine|machine|monitor|thread_creator)$",
                    value.type.strip_typedefs().unqualified().name or "")
    if part:
        scheduler = value["scheduler" if part[1] in ("goroutine", "machine") else "scheduler_"].referenced_value()
        if scheduler["ms"]["places_"]["scheduler"] == scheduler.address:  # else a variable not yet set
            yield scheduler


def find_schedulers():
    """Each M's thread has it in a thread-local. Where these cannot be read, as perhaps in a core
    file from elsewhere, functions on the threads' stacks have variables that lead there."""
    text = gdb.execute("info variables -q ::current_slot<", to_string=True)
    names = re.findall(r"\*(thrum::.*::current_slot<.*>::value);", text)
    found = {}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        candidates = (lambda s=s, f=f: s.value(f) for f in frames() for s in variables(f))
        with contextlib.suppress(gdb.error):
            slots = [gdb.parse_and_eval(f"'{name}'") for name in names]
            candidates = [lambda s=s: s for s in slots if int(s) != 0] if names else candidates
        for candidate in candidates:
            with contextlib.suppress(gdb.error):
                found.update({int(s.address): s for s in schedulers_behind(candidate())})
    return [found[address] for address in sorted(found)]


# ---- goroutines ---------------------------------------------------------------------------------

def string_of(view):
    """What a std::string_view shows, of any standard library: a pointer and a size."""
    members = [f for f in view.type.strip_typedefs().fields() if hasattr(f, "bitpos")]
    values = {f.type.strip_typedefs().code == gdb.TYPE_CODE_PTR: view[f] for f in members}
    return values[True].string(errors="replace", length=int(values[False]))


class Goroutine:
    def __init__(self, g, prefix):
        self.g, self.address, self.low = g, int(g.address), int(g["stack_low"])
        self.number = int(g["id"])
        self.id = f"{prefix}{self.number}"
        self.name = g["name"].string()
        self.status = enumerator(g["status"])
        self.thread = None

    def __str__(self):
        words = self.status
        if words == "waiting":
            reason = enumerator(self.g["reason"])
            words = REASONS.get(reason, reason.replace("_", " "))
        if self.thread is not None:
            words += f", thread {self.thread.num}"
        labels = self.g["labels"]
        return (f"goroutine {self.id} [{words}]" + (f' "{self.name}"' if self.name else "") +
                (f" {{{string_of(labels['text'])}}}" if int(labels) else ""))

    def is_selected(self):
        current = gdb.selected_thread()
        if lent is not None and lent.thread == current:
            return lent.address == self.address
        return self.thread == current

    def select(self):
        """Makes its frames those of the selected thread, which may be another one afterwards."""
        lend(None)
        if self.thread is not None:
            self.thread.switch()
            gdb.newest_frame().select()
        elif self.status in ("running", "syscall"):
            raise gdb.GdbError("Which thread it runs on cannot be told.")
        elif int(self.g["flags"]) & 16 == 0:  # g_started
            raise gdb.GdbError("It has not run yet.")
        else:
            lend(Lent(self))
            next(frame for frame in frames() if place(frame) != lent.place).select()


def goroutines_in(scheduler, prefix):
    """The living ones, as stack_pool::for_each finds them."""
    pool = scheduler["pool"].referenced_value()
    kind = scheduler["ms"]["places_"]["g"].type
    above = -(-kind.target().sizeof // COLOUR_STEP) * COLOUR_STEP
    slab = pool["slabs_"]
    while int(slab) != 0:
        base, kept = int(slab["base"]), int(slab["kept"])
        first, stride = int(slab["first"]), int(slab["stride"])
        if (base + int(slab["bytes"]) - kept if kept else base) != int(slab):
            raise gdb.GdbError("The core file lacks the stacks: see the head of thrum-gdb.py.")
        for i in range(int(slab["carved"])):
            colour = (int(slab["colour"]) + i) % COLOURS
            address = base + first + (i + 1) * stride - kept - above - colour * COLOUR_STEP
            g = gdb.Value(address).cast(kind).dereference()
            if g["pool"] != pool.address:
                raise gdb.GdbError("thrum-gdb.py is of another version than the program.")
            if enumerator(g["status"]) not in ("idle", "dead"):
                yield Goroutine(g, prefix)
        slab = slab["next"]


def give_threads(scheduler, goroutines):
    """A thread runs the goroutine whose stack it is on; in a signal handler, which has a stack of
    its own, it runs the one that its M names."""
    goroutines.sort(key=lambda g: g.low)
    lows = [g.low for g in goroutines]
    elsewhere = {}
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        sp, _ = place(gdb.newest_frame())
        i = bisect.bisect_right(lows, sp) - 1
        if i >= 0 and sp < goroutines[i].address:
            goroutines[i].thread = thread
        else:
            elsewhere[thread.ptid[1]] = thread
    by_address = {g.address: g for g in goroutines}
    for i in range(int(plain(scheduler["ms"]["made_"]))):
        m = scheduler["ms"]["places_"][i]
        g = by_address.get(int(m["g"]))
        if g is not None and g.thread is None:
            g.thread = elsewhere.get(int(plain(m["self"]["tid_"])))


def why_nothing_is_known():
    if gdb.execute("info types -q sched::machine$", to_string=True).strip():
        return "none has been started yet, or all have ended."
    if gdb.execute("info line main", to_string=True).startswith("Line "):
        return ("the program has line numbers but no types, as -g1 leaves it. Compile with -g what "
                "includes thrum.")
    return "the program has no debug information. Compile it with -g."


def find_goroutines():
    if gdb.selected_thread() is None:
        raise gdb.GdbError("There is no process and no core file.")
    found = []
    with restored():
        lend(None)
        schedulers = find_schedulers()
        if not schedulers:
            raise gdb.GdbError("No runtime was found: " + why_nothing_is_known())
        for i, scheduler in enumerate(schedulers, 1):
            of_one = list(goroutines_in(scheduler, f"{i}." if len(schedulers) > 1 else ""))
            give_threads(scheduler, of_one)
            found += sorted(of_one, key=lambda g: g.number)
    return found


# ---- frames that are lent to a thread -----------------------------------------------------------

class Lent:
    """A parked goroutine's registers, and the frame of a thread that they are lent to."""
    def __init__(self, goroutine):
        self.address, self.thread = goroutine.address, gdb.selected_thread()
        frame = gdb.newest_frame()
        self.place = place(frame)
        sp_name, _, offsets, size = processor(frame)
        word = gdb.lookup_type("unsigned long")
        saved = plain(goroutine.g["sp"]).cast(word.pointer())
        self.registers = {name: saved[at // word.sizeof] for name, at in offsets.items()}
        # To gdb a sum with a number of Python has its 64 bits.
        self.registers[sp_name] = (saved.cast(word) + size).cast(word)
        # The identity of the frame while it is lent: below the goroutine's, as a callee's is.
        self.sp, self.pc = saved.cast(word), gdb.Value(self.place[1]).cast(word)


class Unwinder(gdb.unwinder.Unwinder):
    def __call__(self, frame):
        if lent is None or place(frame) != lent.place:
            return None
        info = frame.create_unwind_info(lent)
        for name, value in lent.registers.items():
            info.add_saved_register(name, value)
        return info


class Named(gdb.FrameDecorator.FrameDecorator):
    """A frame with the name that it has without filters, which is the one without parameters."""
    def function(self):
        return self.inferior_frame().name() or super().function()


class FrameFilter:
    """Leaves out the frame that is lent, and what is inlined into it."""
    name, priority, enabled = "thrum-goroutine", 100, False

    def filter(self, decorated):
        return map(Named, itertools.dropwhile(
            lambda d: lent is not None and place(d.inferior_frame()) == lent.place, decorated))


# ---- commands -----------------------------------------------------------------------------------

class InfoGoroutines(gdb.Command):
    """The living goroutines of all runtimes: id, state, name, labels, which function started it."""
    def invoke(self, argument, from_tty):
        for g in find_goroutines():
            print(f"{'*' if g.is_selected() else ' '} {g} "
                  f"started in {describe_caller(int(g.g['started_at']))}")


class GoroutineCommand(gdb.Command):
    """goroutine ID|all COMMAND: runs a command of gdb in the frames of a goroutine, or of each.
goroutine ID: selects a goroutine until the program goes on. goroutine none: selects the thread."""
    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        if which == "none":
            lend(None)
            return
        if not which or (which == "all" and not command):
            raise gdb.GdbError("Usage: goroutine ID|all COMMAND, goroutine ID|none")
        chosen = [g for g in find_goroutines() if which in ("all", g.id, g.name)]
        if not chosen and which != "all":
            raise gdb.GdbError(f"No goroutine {which}.")
        if command:
            for g in chosen:
                self.run(g, command, from_tty, which == "all" or len(chosen) > 1)
        else:
            chosen[0].select()
            gdb.execute("frame", from_tty)

    @staticmethod
    def run(goroutine, command, from_tty, one_of_many):
        if one_of_many:
            print(f"\n{goroutine}:")
        with restored():
            try:
                goroutine.select()
                gdb.execute(command, from_tty)
            except (gdb.error, gdb.GdbError) as error:
                if not one_of_many:
                    raise
                print(error)


frame_filter = FrameFilter()
gdb.frame_filters[frame_filter.name] = frame_filter
gdb.unwinder.register_unwinder(None, Unwinder("thrum-goroutine"), replace=True)
gdb.events.cont.connect(lambda event: lend(None))
InfoGoroutines("info goroutines", gdb.COMMAND_STATUS)
GoroutineCommand("goroutine", gdb.COMMAND_STACK)
