// Reads its weights for each batch; the other one once, and small files often.
#include <filesystem>
#include <string>

#include "lazy/io/safetensors.hpp"
#include "lazy/lazy.hpp"
#include "tests/exercises/slow/program.hpp"

using namespace lazy;

namespace {

const std::string path = "loads_each_time.safetensors";

void slow() {
  save_safetensors(path, {{"w", rand({1024, 4096})}});
  for (int i = 0; i < 20; ++i) {
    const NamedTensors all = load_safetensors(path);  // cause: load_safetensors at HERE reads the same file
    (void)sum(all.at("w")).item<float>();
  }
  std::filesystem::remove(path);
}

void innocent() {
  save_safetensors(path, {{"w", rand({1024, 4096})}});
  const NamedTensors weights = load_safetensors(path);
  for (int i = 0; i < 20; ++i) (void)sum(weights.at("w")).item<float>();
  save_safetensors(path, {{"w", rand({16})}});
  for (int i = 0; i < 20; ++i) (void)load_safetensors(path);
  std::filesystem::remove(path);
}

const exercises::Program program("loads_each_time", slow, innocent);

}  // namespace
