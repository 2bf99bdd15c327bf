// Shares between demos: arguments, one clear line for a mistake, and a report of what the library did.
#pragma once
#include <lazy/lazy.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

/// Reports a mistake of the user's: run() prints it as one line on standard error and returns 1.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;  // without the program's name

/// Runs `body`. `--help` prints `help` instead; more than `most` arguments are a Failure.
int run(int argc, char** argv, const char* help, size_t most, void (*body)(const Arguments&));

/// Returns argument `i`, or `otherwise` when there are fewer.
std::string argument(const Arguments&, size_t i, const std::string& otherwise);
/// Returns it as an integer in [low, high]; throws a Failure for anything else.
long number(const Arguments&, size_t i, long otherwise, long low, long high);
/// Returns the path of a file that comes with the demos.
std::string data_file(const std::string& name);

/// Prints what the library recorded, fused, compiled and found in its cache since the last report.
void report(const std::string& title);

}  // namespace demo
