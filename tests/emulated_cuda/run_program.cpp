#include "tests/emulated_cuda/run_program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "tests/common/child.hpp"

namespace emulated {
namespace {

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

/// Becomes the program, in a child that shares the process's memory: it writes to nothing but its stack.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* input, const char* messages,
                         pid_t parent) {
  lazy::test::end_with_parent(parent);
  const int in = open(input, O_RDONLY), out = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 2) < 0) _exit(127);
  execve(argv[0], argv, environment);
  _exit(127);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const std::filesystem::path& input,
                const std::filesystem::path& messages) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> environment = plain_environment();
  const pid_t parent = getpid();
  // A process that has loaded thousands of modules takes longer to copy than a kernel to compile.
  const pid_t child = vfork();
  if (child == 0) become(argv.data(), environment.data(), input.c_str(), messages.c_str(), parent);
  if (child < 0) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 127;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

}  // namespace emulated
