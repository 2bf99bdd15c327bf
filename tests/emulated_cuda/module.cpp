// Loads modules.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>

#include "tests/emulated_cuda/compiler.hpp"
#include "tests/emulated_cuda/folder.hpp"
#include "tests/emulated_cuda/module.hpp"
#include "tests/emulated_cuda/unchecked.hpp"

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
  loaded->can_be_faster = has_more_effort();
  return loaded;
}

namespace {

/// Ends the process where a kernel does not compile: whoever launches it can no longer be told.
std::shared_ptr<LoadedModule> compiled_and_loaded(const std::string& source, Effort effort) {
  const Compiled compiled = compile(source, effort);
  auto module = compiled.ok ? load(compiled.elf, source) : nullptr;
  if (module != nullptr) return module;
  std::fprintf(stderr, "emulated_cuda: a kernel does not compile\n%s", compiled.log.c_str());
  std::_Exit(2);
}

}  // namespace

std::shared_ptr<LoadedModule> load_kernel(const Text& text, const FoundKernel& kernel) {
  const std::string source = wrap(text.text, text.name, {kernel});
  const bool is_optimised = has_more_effort() && is_cached(source, Effort::more);  // it ran for long before
  auto module = compiled_and_loaded(source, is_optimised ? Effort::more : Effort::little);
  module->can_be_faster = has_more_effort() && !is_optimised;
  note_checked(text.text);
  const size_t bytes = bytes_of(module->shared, kernel.name);
  if (bytes <= kDefaultSharedBytes) return module;
  std::fprintf(stderr, "emulated_cuda: kernel '%s' has %zu bytes of shared memory\n", kernel.name.c_str(),
               bytes);
  std::_Exit(2);
}

std::shared_ptr<LoadedModule> load_optimised(const LoadedModule& module) {
  return compiled_and_loaded(module.source, Effort::more);
}

LoadedModule::~LoadedModule() {
  if (handle != nullptr) dlclose(handle);
}

}  // namespace emulated
