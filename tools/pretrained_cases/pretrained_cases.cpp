// pretrained_cases FOLDER: loads each model that make.py saved, runs it, and compares; saves it again, and
// compares what is loaded then. Exit status 1 if any differs.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "lazy/lazy.hpp"
#include "lazy/pretrained/pretrained.hpp"

using namespace lazy;
namespace fs = std::filesystem;

namespace {

constexpr double kMost = 1e-4;  // of the largest expected magnitude

/// Returns the largest difference as a part of the largest magnitude that is expected.
double difference(const Tensor& found, const Tensor& expected) {
  if (found.shape() != expected.shape()) return 1e9;
  const Tensor e = expected.astype(float64);
  return max(abs(found.astype(float64) - e)).item<double>() / std::max(max(abs(e)).item<double>(), 1e-30);
}

/// Returns the largest difference of all outputs.
double run(const fs::path& model, const fs::path& of_case, pretrained::Model& loaded) {
  loaded = pretrained::load(model, {.dtype = float32});
  const NamedTensors found = loaded(load_safetensors((of_case / "inputs.safetensors").string())),
                     expected = load_safetensors((of_case / "outputs.safetensors").string());
  double most = 0;
  for (const auto& [name, t] : found) most = std::max(most, difference(t, expected.at(name)));
  return most;
}

#define SAVE_IF(M) \
  if (auto* const m = model.get<models::M>()) models::save_pretrained(*m, folder);
void save(pretrained::Model& model, const fs::path& folder) { LAZY_PRETRAINED_MODELS(SAVE_IF) }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "pretrained_cases FOLDER\n"), 2;
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(argv[1]))
    if (fs::exists(entry.path() / "inputs.safetensors")) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  const no_grad scope;
  int failed = 0;
  for (const fs::path& path : all) try {
      pretrained::Model model, again;
      const double first = run(path, path, model);
      const fs::path saved = path / "saved";
      save(model, saved);
      const double second = run(saved, path, again);
      const bool good = first < kMost && second < kMost;
      failed += !good;
      std::printf("%-20s %-36s %.1e %.1e%s\n", path.filename().c_str(), model.architecture().c_str(), first,
                  second, good ? "" : "  DIFFERS");
    } catch (const std::exception& e) {
      ++failed;
      std::printf("%-20s %s\n", path.filename().c_str(), e.what());
    }
  std::printf("%zu cases, %d failed\n", all.size(), failed);
  return failed > 0;
}
