// Names what nearly every test reads: compiled once for all programs of tests (LAZY_PCH). Each file includes
// what it uses all the same.
#include "lazy/lazy.hpp"
#include "tests/common/precompiled_standard.hpp"
