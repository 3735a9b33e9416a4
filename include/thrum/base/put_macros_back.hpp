// SPDX-FileCopyrightText: The thrum authors
// SPDX-License-Identifier: MIT
//
// The other half of put_macros_aside.hpp.
#pragma pop_macro("check")
#pragma pop_macro("clear")
#pragma pop_macro("erase")
#pragma pop_macro("max")
#pragma pop_macro("min")
#pragma pop_macro("move")
#pragma pop_macro("signals")
#pragma pop_macro("slots")
