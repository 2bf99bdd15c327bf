// lazy-launch env: prints what a launch would find on this machine.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "backends/cpu/machine/features.hpp"
#include "lazy/core/device.hpp"
#include "tools/launch/commands.hpp"
#include "tools/launch/cores.hpp"
#include "tools/launch/settings.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

void print_settings() {
  const std::string path = default_settings_path();
  if (!std::filesystem::exists(path)) {
    std::printf("%-14s none (%s)\n", "settings", path.c_str());
    return;
  }
  const Settings t = read_settings(path);
  std::printf("%-14s %s: %d processes, %d machines, mixed_precision %s\n", "settings", path.c_str(),
              t.num_processes, t.num_machines, t.mixed_precision.c_str());
}

}  // namespace

int env_command(int argc, char** argv) {
  CLI::App app("Prints versions, processors, GPUs, settings and the variables that are set.",
               "lazy-launch env");
  if (const auto status = parsed(app, argc, argv)) return *status;
  std::printf("%-14s %s\n", "lazy", LAZY_TOOL_VERSION);
  std::printf("%-14s %s\n", "compiler", __VERSION__);
  std::printf("%-14s %s\n", "processor", cpu_backend::processor_name().c_str());
  std::printf("%-14s %s\n", "instructions", cpu_backend::name_of(cpu_backend::best_isa()));
  std::printf("%-14s %zu, of which %d may be kept busy\n", "cores", cores_here().size(),
              cpu_backend::usable_processors());
  std::printf("%-14s %d\n", "GPUs", cuda_device_count());
  print_settings();
  for (char** v = environ; *v; ++v)
    for (const char* const prefix : {"LAZY_", "ACCELERATE_", "MASTER_"})
      if (!std::strncmp(*v, prefix, std::strlen(prefix))) std::printf("%-14s %s\n", "set", *v);
  return 0;
}

}  // namespace lazy::tool
