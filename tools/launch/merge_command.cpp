// lazy-launch merge-weights: puts a model's several files into one.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "lazy/core/named.hpp"
#include "lazy/io/safetensors.hpp"
#include "tools/launch/commands.hpp"

namespace lazy::tool {

int merge_command(int argc, char** argv) {
  CLI::App app("Writes the tensors of a model's several safetensors files into one.",
               "lazy-launch merge-weights");
  std::string index, target;
  app.add_option("INDEX", index, "model.safetensors.index.json, beside the files that it names")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("TARGET", target, "the file to write")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) ? 2 : 0; }
  const ShardedSafetensors parts = load_safetensors_index(index);
  NamedTensors all;
  for (const std::string& name : parts.names()) all.set(name, parts.at(name));
  save_safetensors(target, all);
  std::printf("%zu tensors of %zu files written to %s\n", parts.size(), parts.opened(), target.c_str());
  return 0;
}

}  // namespace lazy::tool
