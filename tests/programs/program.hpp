// Lets a file define a program by what it is given and what it answers; programs.cpp runs all of them.
//
//   PROGRAM(moving_averages, {.tolerance = 1e-5}) {
//     const Tensor x = in("x");
//     return {{"highest", max(sliding_window_view(x, in.whole("window")), 1)}};
//   }
#pragma once
#include <lazy/lazy.hpp>
#include <map>
#include <string>
#include <vector>

namespace programs {

/// Holds what a case of tests/golden/programs_*.txt gives to a program, by name.
class Given {
 public:
  std::map<std::string, lazy::Tensor> tensors;
  const lazy::Tensor& operator()(const std::string& name) const { return tensors.at(name); }
  int64_t whole(const std::string& name) const { return tensors.at(name).item<int64_t>(); }
  double real(const std::string& name) const { return tensors.at(name).item<double>(); }
};

struct Result {
  std::string name;
  lazy::Tensor value;
};
using Results = std::vector<Result>;

/// Says what a program promises besides its results.
struct Promise {
  double tolerance = 1e-5;  // of floats: relative to the value or 1, whichever is larger
  bool any_size = true;     // a case of other sizes compiles nothing
  bool elementary = false;  // uses functions whose last place may differ: elementary ones, LAPACK's
};

struct Program {
  std::string name;
  Results (*run)(const Given&);
  Promise promise;
};
/// Returns the programs of all files.
std::vector<Program>& all();

struct Registered {
  Registered(const Program& p) { all().push_back(p); }
};

}  // namespace programs

#define PROGRAM(name, ...)                                                                     \
  static programs::Results name##_program(const programs::Given&);                             \
  static const programs::Registered name##_registered{{#name, name##_program, {__VA_ARGS__}}}; \
  static programs::Results name##_program([[maybe_unused]] const programs::Given& in)
