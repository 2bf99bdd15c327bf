// lazy-launch merge-weights: puts the several files of a model, or of a checkpoint, into one.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "lazy/core/named.hpp"
#include "lazy/io/safetensors.hpp"
#include "lazy/training/checkpoint.hpp"
#include "tools/launch/commands.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

/// Writes a checkpoint of many ranks as one file, or one of its parts as a model's weights.
int merge_checkpoint(const std::string& folder, const std::string& target, const std::string& part) {
  const training::Checkpoint all = training::Checkpoint::load(folder);
  if (part.empty()) {
    all.save(target);
    std::printf("the checkpoint of step %lld written to %s\n", static_cast<long long>(all.step()),
                target.c_str());
    return 0;
  }
  const NamedTensors values = all.tensors(part);
  save_safetensors(target, values);
  std::printf("%zu tensors of %s written to %s\n", values.size(), part.c_str(), target.c_str());
  return 0;
}

}  // namespace

int merge_command(int argc, char** argv) {
  CLI::App app("Writes the tensors of a model's several safetensors files, or of a checkpoint's, into one.",
               "lazy-launch merge-weights");
  std::string index, target, part;
  app.add_option("SOURCE", index,
                 "model.safetensors.index.json, beside the files that it names; or a checkpoint's folder")
      ->required()
      ->check(CLI::ExistingPath);
  app.add_option("TARGET", target, "the file to write")->required();
  app.add_option("--part", part,
                 "of a checkpoint this part alone, by the names that it has there: model0 are the weights of "
                 "the first model that was prepared");
  if (const auto status = parsed(app, argc, argv)) return *status;
  if (std::filesystem::is_directory(index)) return merge_checkpoint(index, target, part);
  if (!part.empty()) {
    std::fprintf(stderr, "lazy-launch: --part is of a checkpoint's folder; %s is none\n", index.c_str());
    return 2;
  }
  const ShardedSafetensors parts = load_safetensors_index(index);
  NamedTensors all;
  for (const std::string& name : parts.names()) all.set(name, parts.at(name));
  save_safetensors(target, all);
  std::printf("%zu tensors of %zu files written to %s\n", parts.size(), parts.opened(), target.c_str());
  return 0;
}

}  // namespace lazy::tool
