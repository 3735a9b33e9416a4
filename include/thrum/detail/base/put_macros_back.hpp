// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The other half of put_macros_aside.hpp.
#pragma pop_macro("check")
#pragma pop_macro("clear")
#pragma pop_macro("debug")
#pragma pop_macro("erase")
#pragma pop_macro("error")
#pragma pop_macro("expect")
#pragma pop_macro("fatal")
#pragma pop_macro("log")
#pragma pop_macro("max")
#pragma pop_macro("min")
#pragma pop_macro("move")
#pragma pop_macro("panic")
#pragma pop_macro("signals")
#pragma pop_macro("slots")
#pragma pop_macro("trace")
#pragma pop_macro("warn")
