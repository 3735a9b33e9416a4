// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Which lines of the source lie at code addresses, on Linux: asked of the system's own tool.
//
// Where a program is compiled with -g there is a tool that reads what the compiler has written
// down: addr2line, or one that takes the same arguments. It is looked for along PATH and started
// once for each file of code, with all addresses. No tool, no answer in time: then there are no
// lines.
//
// The program must not notice
//   SL1  Its own children are its own business: it may count SIGCHLD, or wait for any child. execve
//        makes each child one that sends SIGCHLD. So there is a keeper in between, which starts the
//        tool, reads what it says, ends it and waits for it. The keeper itself never calls execve
//        and ends without a signal; only a wait with __WCLONE or __WALL sees it.
//   SL2  The keeper shares our memory, where it writes the answer, and the calling thread sleeps
//        until it has ended (as in vfork): no page table is copied, and two never use one stack
//        or one errno. Others of our threads go on.
//   SL3  Its table of descriptors is a copy, in which it closes all at once: a socket that is
//        closed here meanwhile is closed.
//   SL4  All signals are blocked in the keeper, so that none of our handlers runs there. The tool
//        has every signal as usual, a process group of its own, and nothing of our environment.
//   SL5  The tool has until a deadline. Then it is killed with all that it has started.
//
// Rejected: to read DWARF here, which is larger than the rest of the library; posix_spawn (SL1); a
// child that is given away to init, which is ourselves in many containers.
#ifndef THRUM_OS_LINUX_SOURCE_LINES_HPP
#define THRUM_OS_LINUX_SOURCE_LINES_HPP

#include <thrum/base/config.hpp>

#if THRUM_OS_LINUX && !THRUM_OS_ANDROID

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thrum { inline namespace THRUM_ABI { namespace os {

/// Whether reports are to name lines. Off once a tool was too slow: one report waits for it, not
/// all.
inline constinit std::atomic<bool> wants_source_lines{true};

/// How long one report may wait for all of its lines.
inline constinit std::atomic<std::int64_t> source_lines_patience_ns{2'000'000'000};

/// A tool that tells lines: a file, and whether it must be told to speak as addr2line does.
struct line_tool {
  std::string path;
  bool is_symbolizer = false;
};

/// The first one along PATH; without a path if there is none. Only absolute folders count, and none
/// in a program that has more rights than its caller.
[[gnu::cold]] line_tool find_line_tool();

/// The folder of this library's headers, as the compiler has it.
constexpr std::string_view own_source_folder() noexcept {
  constexpr std::string_view own = __FILE__;
  constexpr std::string_view here = "os/linux/source_lines.hpp";
  return own.substr(0, own.size() - here.size());
}

/// The answers, one for each address: of the places that were inlined into one another there, the
/// innermost that is the user's, else the outermost. Empty: unknown.
THRUM_OUT_OF_LINE std::vector<std::string> read_line_answers(std::string_view text,
                                                             std::size_t count);

/// "file:line" for each address, which is relative to the file's own; empty where it is unknown.
/// `late`: the tool was not ready in time. Allocates. Not in the handler of a signal.
[[gnu::cold]] std::vector<std::string> ask_for_lines(const line_tool& tool,
                                                     const std::string& code_file,
                                                     const std::vector<std::uintptr_t>& places,
                                                     std::int64_t deadline, bool& late);

}}}  // namespace thrum::THRUM_ABI::os

#if !THRUM_SEPARATE
#include <thrum/os/linux/source_lines_definition.hpp>
#endif

#endif  // THRUM_OS_LINUX && !THRUM_OS_ANDROID
#endif  // THRUM_OS_LINUX_SOURCE_LINES_HPP
