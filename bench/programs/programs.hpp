// Lets a file define an ordinary program once: what it is given, and what is timed. main.cpp times all of
// them; bench/peers/programs.py has the same programs in NumPy and torch, with the same inputs.
#pragma once
#include <cstdint>
#include <functional>
#include <lazy/lazy.hpp>
#include <string>
#include <vector>

namespace programs {

/// Gives the larger number where the program is timed, the smaller one where only its result is looked at.
struct Size {
  bool small;
  int64_t operator()(int64_t timed, int64_t checked) const { return small ? checked : timed; }
};

/// Runs a program once and returns its result, in memory or not.
using Run = std::function<lazy::Tensor()>;
struct Program {
  std::string name, size;
  Run (*begin)(Size);
};
/// Returns the programs of all files.
std::vector<Program>& all();

struct Registered {
  Registered(const Program& p) { all().push_back(p); }
};

/// Returns numbers evenly spread over [low, high), float32, in memory.
lazy::Tensor uniform(lazy::ShapeArg shape, float low, float high, uint64_t seed);

}  // namespace programs

#define PROGRAM(name, size)                                                           \
  static programs::Run name##_program(programs::Size);                                \
  static const programs::Registered name##_registered{{#name, size, name##_program}}; \
  static programs::Run name##_program([[maybe_unused]] programs::Size n)
