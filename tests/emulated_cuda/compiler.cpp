#include "tests/emulated_cuda/compiler.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tests/common/child.hpp"
#include "tests/emulated_cuda/folder.hpp"
#include "tests/emulated_cuda/hash.hpp"
#include "tests/emulated_cuda/scan.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

namespace fs = std::filesystem;

/// Returns flags with neither contraction nor fast math: a kernel computes what its text says. Nothing but
/// its table is exported, and no symbol is unique in the process: each loaded module has separate __shared__
/// variables.
std::vector<std::string> flags() {
  std::vector<std::string> all = {"-x",
                                  "c++",
                                  "-std=c++17",
                                  "-O1",
                                  "-shared",
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
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // A module needs neither the startup code nor the C++ library, and linking them is a third of the time.
  all.insert(all.end(), {"-nostartfiles", "-nodefaultlibs"});
#endif
#ifdef __SANITIZE_ADDRESS__
  all.insert(all.end(), {"-g1", "-fsanitize=address", "-fsanitize-sections=emulated_shared"});
#endif
#ifdef __SANITIZE_THREAD__
  all.insert(all.end(), {"-g1", "-fsanitize=thread"});
#endif
  return all;
}

fs::path shim_path() { return fs::path(EMULATED_CUDA_SOURCE_DIR) / "shim.hpp"; }

/// Returns the process's environment, with messages in untranslated English and without variables for the
/// process alone.
std::vector<char*> plain_environment() {
  static char plain[] = "LC_ALL=C";
  std::vector<char*> all = {plain};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.substr(0, 7) != "LC_ALL=" && text.substr(0, 11) != "LD_PRELOAD=") all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

/// Runs the compiler on a file that it reads as its stdin, so that no name of a file gets into the module,
/// with its messages in another; returns its exit status.
int run_compiler(const std::vector<std::string>& arguments, const fs::path& input, const fs::path& messages) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = plain_environment();
  const pid_t child = lazy::test::fork_child();
  if (child < 0) return 127;
  if (child == 0) {  // uses nothing that another thread could have locked
    const int in = open(input.c_str(), O_RDONLY),
              out = open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 2) < 0) _exit(127);
    execve(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

fs::path cached_path(std::string_view source) {
  if (settings().cache.empty()) return {};
  static const auto& shim = *new std::string(
      read_file(shim_path()) + read_file(fs::path(EMULATED_CUDA_SOURCE_DIR) / "module_interface.hpp"));
  uint64_t low = hash(EMULATED_CUDA_COMPILER " " EMULATED_CUDA_COMPILER_VERSION), high = low + 1;
  std::string all = shim;
  for (const std::string& flag : flags()) all += flag + ' ';
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

Compiled compile(std::string_view text, std::string_view name) {
  const std::string source = wrap(text, name, find_kernels(text));
  const fs::path cached = cached_path(source);
  Compiled result;
  if (!cached.empty()) result.elf = read_file(cached);
  if (!result.elf.empty()) {
    result.ok = true;
    return result;
  }
  const fs::path input = fresh_path(".cpp"), output = fresh_path(".so"), messages = fresh_path(".log");
  write_file(input, source);
  std::vector<std::string> arguments = flags();
  arguments.insert(arguments.begin(), EMULATED_CUDA_COMPILER);
  arguments.insert(arguments.end(),
                   {"-include", shim_path().string(), "-", "-o", output.string(), "-lm", "-lgcc"});
  result.ok = run_compiler(arguments, input, messages) == 0;
  result.log = read_file(messages);
  if (result.ok) {
    result.elf = read_file(output);
    if (!cached.empty()) publish(cached, result.elf);
  }
  std::error_code none;
  for (const fs::path& path : {input, output, messages}) fs::remove(path, none);
  return result;
}

}  // namespace emulated
