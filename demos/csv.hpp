// Reads tables of numbers as columns.
#pragma once
#include <string>
#include <vector>

#include "demo.hpp"

namespace demo {

/// Returns the file's columns, `width` of them. Throws a Failure, or an IoError of the library's that names
/// file and line, for what is no table of so many columns.
inline std::vector<std::vector<float>> read_csv(const std::string& path, size_t width) {
  const lazy::Tensor table = lazy::read_csv(path).values.astype(lazy::float32);
  if (table.size(0) == 0) throw Failure(path + ": no lines of numbers");
  if (static_cast<size_t>(table.size(1)) != width)
    throw Failure(path + ": expected " + std::to_string(width) + " columns, found " +
                  std::to_string(table.size(1)));
  std::vector<std::vector<float>> columns;
  for (size_t c = 0; c < width; ++c) columns.push_back(table(lazy::_, c).to_vector<float>());
  return columns;
}

}  // namespace demo
