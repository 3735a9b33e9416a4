# SPDX-FileCopyrightText: The thrum authors
# SPDX-License-Identifier: MIT
"""Where a header asks what it is compiled for: the rules that tools/check_layers.py holds.

base/config.hpp and the choosers ask freely. A file of a port (floors 1 and 2) has one condition
around all of its code, and may ask inside of it whether its system has a name. All other files ask
for the options of this build and for nothing else, and include no header of a system."""
import re

CHOOSERS = {"thrum/detail/base/config.hpp", "thrum/detail/arch/arch.hpp", "thrum/detail/os/os.hpp", "thrum/detail/os/parts.hpp",
            "thrum/detail/os/handle.hpp", "thrum/detail/os/socket_types.hpp", "thrum/detail/os/memory_parts.hpp",
            "thrum/detail/os/posix/thread_ref.hpp", "thrum/detail/os/posix/symbol.hpp", "thrum/detail/os/clock.hpp",
            "thrum/detail/os/memory.hpp", "thrum/detail/os/posix/machine_state.hpp", "thrum/detail/os/processors.hpp",
            "thrum/detail/os/posix/transfer.hpp", "thrum/detail/os/parts.hpp", "thrum/detail/base/fatal.hpp",
            "thrum/detail/os/thread_parts.hpp", "thrum/detail/os/wait_table.hpp", "thrum/detail/os/io_parts.hpp", "thrum/detail/os/cpu_timer.hpp", "thrum/detail/os/all_memory.hpp",
            "thrum/detail/os/backtrace.hpp", "thrum/detail/os/exit.hpp", "thrum/detail/os/remove_tree.hpp",
            "thrum/detail/os/posix/thread.hpp", "thrum/detail/os/windows/unwind_table.hpp",
            "thrum/detail/os/result.hpp", "thrum/detail/os/fence.hpp", "thrum/detail/os/thread_event.hpp", "thrum/detail/os/posix/code_image.hpp",
            "thrum/detail/os/posix/loaded_code.hpp", "thrum/detail/os/posix/new_handles.hpp",
            "thrum/detail/os/posix/process_wide.hpp", "thrum/detail/os/posix/unwind_table.hpp", "thrum/detail/os/bsd/thread.hpp", "thrum/detail/os/linux/thread.hpp",
            "thrum/detail/netpoll/netpoll.hpp",
            # They replace the C library's calls, in a program that asks for it.
            "thrum/interpose.hpp", "thrum/detail/interpose/ask.hpp", "thrum/detail/interpose/several.hpp",
            "thrum/detail/interpose/transfer.hpp",
            # Which Asio there is, and what it can do.
            "thrum/detail/interop/asio_operation.hpp", "thrum/interop/asio.hpp",
            # Which senders there are.
            "thrum/interop/execution.hpp",
            # Whether there is Tracy.
            "thrum/debug/tracy.hpp"}

# What files of no port may ask. A list of what is allowed cannot be got round by a name that it does
# not know.
OPTION = re.compile(
    r"THRUM_(?:EXCEPTIONS|CHECKS|TRACE|USDT|ASAN|TSAN|SEPARATE|BODIES|TEMPLATE_BODIES|SHARED_OBJECT|REQUIREMENTS_MET|TRAITS_HEADER"
    r"|KEEP_ERRNO|FAKE_NET)|THRUM_(?:\w+_)?HPP|defined|__cplusplus|__cpp_\w+|__clang__|__OPTIMIZE__"
    r"|_LIBCPP_VERSION")

# By which compilers and headers of systems name a system, a processor or a convention of theirs.
OTHERS = re.compile(
    r"(?:__)?linux(?:__)?|__gnu_linux__|(?:__)?unix(?:__)?|_{0,2}WIN(?:32|64|NT)(?:__)?|_WIN32_WINNT\w*|__NT__"
    r"|_MSC_VER|__MINGW\w*|__CYGWIN\w*|__MSYS__|__APPLE\w*|__MACH__|TARGET_(?:OS|CPU)_\w+"
    r"|MAC_OS_\w+|__\w*BSD\w*__|__DragonFly__|__ELF__|__GLIBC\w*|__UCLIBC__|(?:__)?ANDROID\w*"
    r"|__BIONIC__|__sun\w*|_AIX|__HAIKU__|__Fuchsia__|__QNX\w*|__EMSCRIPTEN__|__wasi__|__wasm\w*"
    r"|__x86_64(?:__)?|__amd64(?:__)?|(?:__)?i[3-6]86(?:__)?|_M_[A-Z]\w*|__SSE\w*|__AVX\w*"
    r"|__aarch64__|__arm\w*|__ARM_(?:ARCH|EABI|NEON|PCS)\w*|__riscv\w*|__(?:powerpc|PPC|ppc)\w*"
    r"|_ARCH_\w+|_CALL_\w+|__s390\w*|__zarch__|__loongarch\w*|__mips\w*|__sparc\w*"
    r"|_{0,2}(?:I?LP32|LP64)(?:__)?|__BYTE_ORDER__|__SIZEOF_\w+")

# Headers without which a file of no port cannot do, with the reason.
SYSTEM_HEADERS = {
    # It replaces the C library's own locks, in a program that asks for it.
    "thrum/debug/mutex_watch.hpp": {"dlfcn.h", "pthread.h"},
    # Probes, in a program that asks for them.
    "thrum/detail/trace/probes.hpp": {"sys/sdt.h"},
}

DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*(\w+)(.*)", re.S)


def directive(line):
    """(word, rest) of a line of the preprocessor; both empty for another line."""
    match = DIRECTIVE.match(line)
    return match.groups() if match else ("", "")


def code_lines(text):
    """Lines without comments and what stands in quotes: (number, line). One that goes on behind a
    backslash is one line, with the number of its first."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: '""' + "\n" * m.group().count("\n"), text, flags=re.S)
    text = text.replace("\\\n", "\v")
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'",
                  lambda m: " " + re.sub(r"[^\n\v]", "", m.group()), text, flags=re.S)
    number = 1
    for line in text.split("\n"):
        yield number, line.replace("\v", " ")
        number += 1 + line.count("\v")


def conditions(lines):
    """Each #if with all its branches: (line, depth, their words, line of its #endif). Depth 1 is
    directly inside the include guard."""
    open_, found = [], []
    for number, line in lines:
        word, rest = directive(line)
        if word.startswith("if"):
            open_.append([number, len(open_), [rest], 0])
        elif word == "endif" and open_:
            done = open_.pop()
            done[3] = number
            found.append(done)
        elif word.startswith("el") and open_:
            open_[-1][2].append(rest)
    return sorted(found)


def own_names(config):
    """The macros of base/config.hpp that say what is compiled for."""
    return set(re.findall(r"#define (THRUM_(?:OS|ARCH|POLLER)_\w+)", config))


# What is included only by who asks for it.
OPENSSL_USERS = re.compile(r"thrum/(?:detail/)?net/tls(_\w+)?\.hpp$")


def names_in(line):
    return re.findall(r"(?<![\w.])[A-Za-z_]\w*", line)


def platform_errors(name, floor, text, own):
    """What is wrong in a header that stands on this floor; `own` is own_names()."""
    if name in CHOOSERS:
        return []
    lines = list(code_lines(text))
    found = conditions(lines)
    is_port = floor in (1, 2)

    def tells(line):
        return any(word in own or OTHERS.fullmatch(word) for word in names_in(line))

    errors = []
    asked = [c for c in found if any(map(tells, c[2]))]
    if is_port and asked:
        first, depth, branches, last = asked[0]
        outside = [line for number, line in lines if not first <= number <= last]
        if depth == 1 and len(branches) == 1 and \
                all(not line.strip() or DIRECTIVE.match(line) for line in outside):
            asked = asked[1:]
    errors += [(c[0], "a condition on the platform; only base/config.hpp and the choosers have these, "
                      "and a platform file as its one outer condition") for c in asked]
    for number, line in lines:
        word, rest = directive(line)
        if word in ("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"):
            strange = [n for n in names_in(rest) if not OPTION.fullmatch(n)]
            if not is_port and strange and not tells(line):
                errors.append((number, f"a condition on {strange[0]}, which is no option of the build"))
        elif tells(line) and word not in ("undef", "include"):
            errors.append((number, "asks for the platform, if not by a condition of the preprocessor"))
        if not is_port and word in ("include", "include_next", "import"):
            header = re.match(r"\s*<([^>]+\.h)>", rest)
            if header and not header[1].startswith("sanitizer/") and \
                    not (header[1].startswith("openssl/") and OPENSSL_USERS.match(name)) and \
                    header[1] not in SYSTEM_HEADERS.get(name, ()):
                errors.append((number, f"<{header[1]}> is a system's; os/ is there for it"))
        if not is_port and floor > 0 and \
                re.search(r"\busing\s+namespace\s+(?:\w+::)*(?:os|arch)\s*;"
                          r"|\bnamespace\s+\w+\s*=\s*(?:\w+::)*(?:os|arch)\s*;", line):
            errors.append((number, "os and arch are named, so that it is seen what is asked of a port"))
    return [f"{name}:{number}: {what}" for number, what in sorted(errors)]
