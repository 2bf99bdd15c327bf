// lazy-launch estimate-memory: says what the training of a model takes on each rank, from its files' headers.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/launch/commands.hpp"
#include "tools/launch/model_size.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

std::string amount(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  char text[40];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

/// Prints a row for each stage: what is shared out among the ranks is what the stage of ZeRO says.
void print_table(const ModelSize& s, int world) {
  const double weights = static_cast<double>(s.bytes), gradients = static_cast<double>(s.gradients);
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
  if (s.blocks)
    std::printf("blocks of %llu tensors are counted as they are; they would train in float32\n",
                static_cast<unsigned long long>(s.blocks));
  std::printf("activations come on top: they depend on the batch\n");
}

}  // namespace

int estimate_command(int argc, char** argv) {
  CLI::App app("Prints the memory that weights, gradients and Adam's moments take on each rank.",
               "lazy-launch estimate-memory");
  std::string path;
  int world = 1;
  app.add_option("MODEL", path, "a .safetensors, .gguf or .onnx file, or a folder of such")->required();
  app.add_option("--world", world, "ranks")->check(CLI::Range(1, 1 << 20));
  if (const auto status = parsed(app, argc, argv)) return *status;
  print_table(size_of_model(path), world);
  return 0;
}

}  // namespace lazy::tool
