#include "lazy/training/step_names.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "support/error.hpp"
#include "support/files.hpp"

namespace lazy::training::detail {

std::string name_of_step(int64_t step) {
  std::string digits = std::to_string(step);
  digits.insert(0, 12 - std::min<size_t>(digits.size(), 12), '0');
  return std::string(kStepPrefix) + digits;
}

std::optional<int64_t> step_of_name(std::string_view name) {
  int64_t step = 0;
  if (!name.starts_with(kStepPrefix) || !number_of(name.substr(kStepPrefix.size()), step)) return {};
  return step;
}

bool number_of(std::string_view text, int64_t& v) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string> names_in(const char* op, const std::string& folder, const Site& s) {
  std::vector<std::string> names;
  if (!files::names_in(AT_FDCWD, folder.c_str(), names))
    throw IoError(std::string(op) + ": cannot read " + folder + ": " + std::strerror(errno), s);
  return names;
}

}  // namespace lazy::training::detail
