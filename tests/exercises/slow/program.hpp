// Collects programs that are slow for one reason each, and beside each one that looks like it and is as it
// should be.
//
//   void slow() { ... (void)loss.item<float>();  // cause: item.. at HERE
//   void innocent() { ... }
//   const Program program("asks_each_step", slow, innocent);
//
// The comment says what a hint, or one of the first lines of the summary, has to say of the line: a regular
// expression in which HERE stands for the file's name and this line.
#pragma once
#include <map>
#include <string>
#include <utility>

namespace exercises {

using Function = void (*)();
/// Returns the programs by name: slow and innocent.
inline std::map<std::string, std::pair<Function, Function>>& programs() {
  static std::map<std::string, std::pair<Function, Function>> all;
  return all;
}
struct Program {
  Program(const char* name, Function slow, Function innocent) { programs()[name] = {slow, innocent}; }
};

}  // namespace exercises
