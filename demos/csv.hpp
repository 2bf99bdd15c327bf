// Reads tables of numbers from comma-separated text: one line of names, then lines of as many numbers.
#pragma once
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "demo.hpp"

namespace demo {

/// Returns the file's columns, `width` of them. Throws a Failure that names file and line for a missing file
/// or an ill-formed line.
inline std::vector<std::vector<float>> read_csv(const std::string& path, size_t width) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw Failure("cannot read " + path);
  std::vector<std::vector<float>> columns(width);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1 || line.empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw Failure(path + ":" + std::to_string(number) + ": " + what);
    };
    std::vector<float> row;
    for (size_t begin = 0; begin <= line.size();) {
      size_t end = std::min(line.find(',', begin), line.size());
      const std::string_view cell = std::string_view(line).substr(begin, end - begin);
      float value = 0;
      const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      if (error != std::errc{} || stop != cell.data() + cell.size())
        fail("'" + std::string(cell) + "' is not a number");
      row.push_back(value);
      begin = end + 1;
    }
    if (row.size() != width)
      fail("expected " + std::to_string(width) + " numbers, found " + std::to_string(row.size()));
    for (size_t c = 0; c < width; ++c) columns[c].push_back(row[c]);
  }
  if (columns[0].empty()) throw Failure(path + ": no lines of numbers");
  return columns;
}

}  // namespace demo
