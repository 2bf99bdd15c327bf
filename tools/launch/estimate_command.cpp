// lazy-launch estimate-memory: says what the training of a model takes on each rank, from its files' headers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "tools/launch/commands.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
constexpr uint64_t kLargestHeader = 100'000'000;  // bytes, the format's own limit

struct Size {
  uint64_t parameters = 0, bytes = 0, largest = 0;  // largest: bytes of one tensor
};

uint64_t little_endian(const unsigned char (&b)[8]) {
  uint64_t n = 0;
  for (int i = 7; i >= 0; --i) n = n << 8 | b[i];
  return n;
}

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json header_of(const fs::path& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  if (error) fail(file, error.message());
  std::ifstream in(file, std::ios::binary);
  unsigned char first[8] = {};
  if (!in.read(reinterpret_cast<char*>(first), 8))
    fail(file, "at byte 0: 8 bytes of a header's length were expected");
  const uint64_t n = little_endian(first);
  if (n > size - 8 || n > kLargestHeader)
    fail(file, "at byte 0: a header of " + std::to_string(n) + " bytes in a file of " + std::to_string(size));
  std::string text(n, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(n)))
    fail(file, "at byte 8: the header can't be read");
  json header = json::parse(text, nullptr, false);
  if (!header.is_object()) fail(file, "at byte 8: the header is no JSON object");
  return header;
}

/// Adds a tensor of a header: its shape and its place in the data.
void add(const fs::path& file, const std::string& name, const json& tensor, Size& total) {
  const auto shape = tensor.is_object() ? tensor.find("shape") : tensor.end();
  if (!tensor.is_object() || shape == tensor.end() || !shape->is_array())
    fail(file, "tensor " + name + " has no shape");
  uint64_t elements = 1;
  for (const json& extent : *shape)
    if (!extent.is_number_unsigned() || __builtin_mul_overflow(elements, extent.get<uint64_t>(), &elements))
      fail(file, "tensor " + name + ": its shape is none, or has too many elements");
  const auto at = tensor.find("data_offsets");
  if (at == tensor.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number_unsigned() ||
      !(*at)[1].is_number_unsigned() || (*at)[1].get<uint64_t>() < (*at)[0].get<uint64_t>())
    fail(file, "tensor " + name + ": two data_offsets, the first not above the second, were expected");
  const uint64_t bytes = (*at)[1].get<uint64_t>() - (*at)[0].get<uint64_t>();
  if (__builtin_add_overflow(total.parameters, elements, &total.parameters) ||
      __builtin_add_overflow(total.bytes, bytes, &total.bytes))
    fail(file, "tensor " + name + ": more bytes than 64 bits count");
  total.largest = std::max(total.largest, bytes);
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) {
    if (path.extension() != ".safetensors")
      fail(path, "a .safetensors file, or a folder of such, was expected");
    return {path};
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  if (files.empty()) fail(path, "has no .safetensors file");
  std::sort(files.begin(), files.end());
  return files;
}

std::string amount(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  char text[40];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

/// Prints a row for each stage: what is shared out among the ranks is what the stage of ZeRO says.
void print_table(const Size& s, int world) {
  const double weights = static_cast<double>(s.bytes), gradients = weights;
  const double adam = 8.0 * static_cast<double>(s.parameters);  // two moments in float32
  std::printf("%.0f parameters, %s of weights, the largest tensor %s; %d rank%s\n",
              static_cast<double>(s.parameters), amount(weights).c_str(),
              amount(static_cast<double>(s.largest)).c_str(), world, world == 1 ? "" : "s");
  std::printf("%-8s %12s %12s %12s %12s\n", "by rank", "weights", "gradients", "Adam", "together");
  for (int stage = 0; stage <= 3; ++stage) {
    const double w = weights / (stage >= 3 ? world : 1), g = gradients / (stage >= 2 ? world : 1),
                 a = adam / (stage >= 1 ? world : 1);
    std::printf("%-8s %12s %12s %12s %12s\n", stage ? ("ZeRO-" + std::to_string(stage)).c_str() : "all",
                amount(w).c_str(), amount(g).c_str(), amount(a).c_str(), amount(w + g + a).c_str());
  }
  std::printf("activations come on top: they depend on the batch\n");
}

}  // namespace

int estimate_command(int argc, char** argv) {
  CLI::App app("Prints the memory that weights, gradients and Adam's moments take on each rank.",
               "lazy-launch estimate-memory");
  std::string path;
  int world = 1;
  app.add_option("MODEL", path, "a .safetensors file, or a folder of such")->required();
  app.add_option("--world", world, "ranks")->check(CLI::Range(1, 1 << 20));
  if (const auto status = parsed(app, argc, argv)) return *status;
  Size total;
  for (const fs::path& file : files_of(path)) {
    const json header = header_of(file);
    for (const auto& [name, tensor] : header.items())
      if (name != "__metadata__") add(file, name, tensor, total);
  }
  print_table(total, world);
  return 0;
}

}  // namespace lazy::tool
