#include "tests/emulated_cuda/compiler.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tests/emulated_cuda/folder.hpp"
#include "tests/emulated_cuda/hash.hpp"
#include "tests/emulated_cuda/run_program.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

namespace fs = std::filesystem;

#ifdef EMULATED_CUDA_CC1PLUS
constexpr bool kByDriver = false;
#else
constexpr bool kByDriver = true;  // it links what a sanitizer needs
#define EMULATED_CUDA_CC1PLUS ""
#define EMULATED_CUDA_AS ""
#define EMULATED_CUDA_LD ""
#define EMULATED_CUDA_LIBGCC ""
#endif

/// Returns flags with neither contraction nor fast math: a kernel computes what its text says. Nothing but
/// its table is exported, and no symbol is unique in the process: each loaded module has separate __shared__
/// variables. The driver always optimises: sanitized code is slow enough.
std::vector<std::string> flags(Effort effort) {
  std::vector<std::string> all = {effort == Effort::more || kByDriver ? "-O1" : "-O0",
                                  "-std=c++17",
                                  "-fPIC",
                                  "-ffp-contract=off",
                                  "-fno-math-errno",
                                  "-fno-exceptions",
                                  "-fno-rtti",
                                  "-fno-asynchronous-unwind-tables",
                                  "-fvisibility=hidden",
                                  "-fno-gnu-unique",
                                  "-w",
                                  "-DLAZY_EMULATED"};
  if (__builtin_cpu_supports("fma")) all.insert(all.end(), {"-mfma", "-msse4.1"});
#ifdef __SANITIZE_ADDRESS__
  all.insert(all.end(), {"-g1", "-fsanitize=address", "-fsanitize-sections=emulated_shared"});
#endif
#ifdef __SANITIZE_THREAD__
  all.insert(all.end(), {"-g1", "-fsanitize=thread"});
#endif
  return all;
}

fs::path shim_path() { return fs::path(EMULATED_CUDA_SOURCE_DIR) / "shim.hpp"; }

/// Returns the programs, one after the other, that make a module of their stdin, so that no name of a file
/// gets into it. Without the driver there are two processes less.
std::vector<std::vector<std::string>> programs(Effort effort, const fs::path& output) {
  std::vector<std::string> compiler = flags(effort);
  compiler.insert(compiler.end(), {"-include", shim_path().string(), "-", "-o"});
  if (kByDriver) {
    compiler.insert(compiler.begin(), {EMULATED_CUDA_COMPILER, "-x", "c++", "-shared"});
    compiler.insert(compiler.end(), {output.string(), "-lm", "-lgcc"});
    return {compiler};
  }
  const std::string assembly = output.string() + ".s", object = output.string() + ".o";
  compiler.insert(compiler.begin(), {EMULATED_CUDA_CC1PLUS, "-quiet"});
  compiler.push_back(assembly);
  // Functions of libm are found in the process, whose C++ library needs it.
  return {compiler,
          {EMULATED_CUDA_AS, "-o", object, assembly},
          {EMULATED_CUDA_LD, "-shared", "-o", output.string(), object, EMULATED_CUDA_LIBGCC}};
}

fs::path cached_path(std::string_view source, Effort effort) {
  if (settings().cache.empty()) return {};
  static const auto& shim = *new std::string(
      read_file(shim_path()) + read_file(fs::path(EMULATED_CUDA_SOURCE_DIR) / "module_interface.hpp"));
  uint64_t low = hash(EMULATED_CUDA_COMPILER " " EMULATED_CUDA_COMPILER_VERSION), high = low + 1;
  std::string all = shim;
  for (const std::string& flag : flags(effort)) all += flag + ' ';
  all += source;
  low = hash(all, low), high = hash(all, high * 0x9e3779b97f4a7c15);
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 ".so", high, low);
  return fs::path(settings().cache) / name;
}

/// Writes a file that appears at once and complete, whoever else does the same.
void publish(const fs::path& path, std::string_view bytes) {
  std::error_code none;
  fs::create_directories(path.parent_path().parent_path(), none);
  mkdir(path.parent_path().c_str(), 0700);
  fs::path part = path;
  part += "." + std::to_string(getpid()) + "." + fresh_path("").filename().string();
  if (write_file(part, bytes)) {
    fs::rename(part, path, none);
  } else {
    fs::remove(part, none);
  }
}

}  // namespace

bool has_more_effort() { return !kByDriver; }

bool is_cached(const std::string& source, Effort effort) {
  const fs::path cached = cached_path(source, effort);
  std::error_code none;
  return !cached.empty() && fs::exists(cached, none);
}

Compiled compile(const std::string& source, Effort effort) {
  const fs::path cached = cached_path(source, effort);
  Compiled result;
  if (!cached.empty()) result.elf = read_file(cached);
  if (!result.elf.empty()) {
    result.ok = true;
    return result;
  }
  const fs::path input = fresh_path(".cpp"), output = fresh_path(".so"), messages = fresh_path(".log");
  result.ok = write_file(input, source);
  for (const auto& program : programs(effort, output)) {
    result.ok = result.ok && run_program(program, input, messages) == 0;
  }
  result.log = read_file(messages);
  if (result.ok) {
    result.elf = read_file(output);
    if (!cached.empty()) publish(cached, result.elf);
  }
  std::error_code none;
  for (const char* suffix : {"", ".s", ".o"}) fs::remove(output.string() + suffix, none);
  for (const fs::path& path : {input, messages}) fs::remove(path, none);
  return result;
}

std::string errors_in(const std::string& text) {
  std::vector<std::string> compiler = flags(Effort::little);
  compiler.insert(compiler.begin(), {EMULATED_CUDA_COMPILER, "-fsyntax-only", "-x", "c++"});
  compiler.insert(compiler.end(), {"-include", shim_path().string(), "-"});
  const fs::path input = fresh_path(".cpp"), messages = fresh_path(".log");
  std::string errors;
  const int status = write_file(input, text) ? run_program(compiler, input, messages) : 127;
  if (status != 0) {
    errors = read_file(messages) + "the compiler exits with " + std::to_string(status) + "\n";
  }
  std::error_code none;
  for (const fs::path& path : {input, messages}) fs::remove(path, none);
  return errors;
}

}  // namespace emulated
