// Draws shares as bars.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace lazy::tool {

/// Holds a name, and its share from 0 to 1.
using Bar = std::pair<std::string, double>;

/// Writes a picture of a bar for each share, the names beside them: .svg, or .png. lazy::Error for what can't
/// be written.
void write_chart(const std::string& path, const std::string& title, const std::vector<Bar>& bars);

}  // namespace lazy::tool
