// Says where a name may hide another.
#pragma once

// Between these a constructor's parameter may be named as the field that it sets, and an enumerator as
// something outside of its enumeration: users see the field's own word, and -Wshadow of g++ warns of neither.
#define LAZY_SHADOWING_BEGIN _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define LAZY_SHADOWING_END _Pragma("GCC diagnostic pop")
