// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// Names of functions and variables, here and in the standard's headers, that Qt, Windows, curses
// and Unreal define as macros. They are put aside for the time of the includes.
// Included again and again, so without a guard; put_macros_back.hpp is the other half.
#pragma push_macro("check")
#pragma push_macro("clear")
#pragma push_macro("erase")
#pragma push_macro("max")
#pragma push_macro("min")
#pragma push_macro("move")
#pragma push_macro("signals")
#pragma push_macro("slots")
#undef check
#undef clear
#undef erase
#undef max
#undef min
#undef move
#undef signals
#undef slots
