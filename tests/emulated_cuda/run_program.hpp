// Runs a program of the compiler.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace emulated {

/// Runs a program that reads `input` as its stdin and writes its messages, in untranslated English, to
/// another file; returns its exit status, or 127 if it could not be run. It ends with the calling thread.
int run_program(const std::vector<std::string>& arguments, const std::filesystem::path& input,
                const std::filesystem::path& messages);

}  // namespace emulated
