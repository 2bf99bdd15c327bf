// Loads modules.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

#include "tests/emulated_cuda/folder.hpp"
#include "tests/emulated_cuda/module.hpp"

namespace emulated {

std::shared_ptr<LoadedModule> load(std::string_view elf, std::string_view source) {
  // dlopen() takes one path for one object, so no path is used twice.
  const std::filesystem::path path = fresh_path(".so");
  if (!write_file(path, elf)) return nullptr;
  auto loaded = std::make_shared<LoadedModule>();
  loaded->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::error_code none;
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer's reports read it
  std::filesystem::remove(path, none);
#endif
  if (loaded->handle == nullptr) {
    std::fprintf(stderr, "emulated_cuda: %s\n", dlerror());
    return nullptr;
  }
  loaded->module = static_cast<const Module*>(dlsym(loaded->handle, "emulated_module"));
  link_map* map = nullptr;
  if (loaded->module == nullptr || dlinfo(loaded->handle, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  loaded->base = map->l_addr;
  loaded->shared = shared_variables(elf);
  loaded->source = source;
  return loaded;
}

LoadedModule::~LoadedModule() {
  if (handle != nullptr) dlclose(handle);
}

}  // namespace emulated
