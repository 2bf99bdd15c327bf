// Runs cases of text on the library, so that another program can compare (compare.py), and knows all public
// ops by name.
//
//   lazy_oracle                       reads cases (table.hpp) from standard input, a line each, and writes a
//                                     line of results for each
//   lazy_oracle check FILE...         runs the cases of files that say what is expected
//   lazy_oracle gradients [ROW...]    compares gradients of rows' samples with differences
//   lazy_oracle gradients-of FILE...  does so for the cases of files
//   lazy_oracle page FOLDER           prints docs/ops.md, with the names in FOLDER's aten.tsv and
//                                     array_api.tsv
//   lazy_oracle faults ROOT           prints what the tables lack of the checkout ROOT
//
// The status says if something is wrong.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>

#include "tests/oracle/table.hpp"

namespace {

std::string line;  // the case that runs

/// Names the case that ends the process.
void on_signal(int number) {
  const char said[] = "lazy_oracle: a signal ends it in: ";
  const size_t n = line.size() < 2000 ? line.size() : 2000;
  if (write(2, said, sizeof said - 1) < 0 || write(2, line.data(), n) < 0 || write(2, "\n", 1) < 0) _exit(3);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

int run() {
  std::ios::sync_with_stdio(false);
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(s, on_signal);
  while (std::getline(std::cin, line)) std::cout << oracle::result_of(line) << '\n';
  std::cout.flush();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  setenv("LAZY_CACHE", "off", 0);
  try {
    if (mode.empty()) return run();
    int faults = 0;
    if (mode == "page" && count == 3) oracle::print_page(words[2]);
    else if (mode == "faults" && count == 3) faults = oracle::print_faults(words[2]);
    else if (mode == "names" && count == 2)
      for (const oracle::Row* r : oracle::table()) std::cout << r->name << '\n';
    else if (mode == "gradients")
      faults = oracle::check_gradients_of_samples(std::vector<std::string_view>(words + 2, words + count));
    else if (mode == "gradients-of" && count > 2)
      for (int i = 2; i < count; ++i) faults += oracle::check_gradients_of_cases(words[i]);
    else if (mode == "check" && count > 2)
      for (int i = 2; i < count; ++i) faults += oracle::check(words[i]);
    else return std::cerr << "lazy_oracle: see the first lines of tests/oracle/main.cpp\n", 2;
    return faults != 0;
  } catch (const std::exception& e) {
    std::cerr << "lazy_oracle: " << e.what() << "\nin " << line.substr(0, 2000) << '\n';
    return 2;
  }
}
