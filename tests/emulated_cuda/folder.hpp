// The process's own temporary folder.
#pragma once
#include <filesystem>
#include <string_view>

namespace emulated {

/// A path in it that nobody else uses, ending in `suffix`. The folder goes when the process ends.
std::filesystem::path fresh_path(std::string_view suffix);
/// The bytes of a file; empty if it cannot be read.
std::string read_file(const std::filesystem::path&);
/// False if they could not all be written.
bool write_file(const std::filesystem::path&, std::string_view bytes);

}  // namespace emulated
