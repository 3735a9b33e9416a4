// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Names of functions and variables, here and in the standard's headers, that Qt, Windows, curses,
// Unreal and programs' own loggers define as macros. They are put aside for the time of the includes.
// Included again and again, so without a guard; put_macros_back.hpp is the other half.
#pragma push_macro("check")
#pragma push_macro("clear")
#pragma push_macro("debug")
#pragma push_macro("erase")
#pragma push_macro("error")
#pragma push_macro("expect")
#pragma push_macro("fatal")
#pragma push_macro("log")
#pragma push_macro("max")
#pragma push_macro("min")
#pragma push_macro("move")
#pragma push_macro("panic")
#pragma push_macro("signals")
#pragma push_macro("slots")
#pragma push_macro("trace")
#pragma push_macro("warn")
#undef check
#undef clear
#undef debug
#undef erase
#undef error
#undef expect
#undef fatal
#undef log
#undef max
#undef min
#undef move
#undef panic
#undef signals
#undef slots
#undef trace
#undef warn
