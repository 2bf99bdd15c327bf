// Makes a temporary folder for the process.
#pragma once
#include <filesystem>
#include <string_view>

namespace emulated {

/// Returns a path in it that nobody else uses, ending in `suffix`. The folder is removed when the process
/// ends.
std::filesystem::path fresh_path(std::string_view suffix);
/// Returns the bytes of a file; empty if it cannot be read.
std::string read_file(const std::filesystem::path&);
/// Writes a file; false if not all bytes could be written.
bool write_file(const std::filesystem::path&, std::string_view bytes);

}  // namespace emulated
