#pragma once
#include <unistd.h>

#include <cstdio>
#include <string>

namespace emulated_test {

/// Returns what is written to stderr while f() runs.
template <class F>
std::string stderr_of(F f) {
  std::fflush(stderr);
  std::FILE* file = std::tmpfile();
  const int before = dup(2);
  dup2(fileno(file), 2);
  f();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::string text(static_cast<size_t>(lseek(fileno(file), 0, SEEK_END)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace emulated_test
