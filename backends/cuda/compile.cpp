#include "backends/cuda/compile.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "backends/cuda/api/nvrtc.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace lazy::cuda_backend {
namespace {

std::string numbered(const std::string& text) {
  std::string out;
  int line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    char number[16];
    std::snprintf(number, sizeof number, "%4d  ", line);
    out += number + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// Returns the log without how long it took: what is compiled again must come out the same.
std::string without_times(const std::string& log) {
  std::string kept;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line(log.data() + at, end - at);
    if (line.find("Compile time = ") == line.npos) kept.append(line).append("\n");
    at = end + 1;
  }
  return kept;
}

class Program {
 public:
  Program(const api::Nvrtc& n, const std::string& text, const std::string& name) : nvrtc_(n) {
    check(n.create(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  Program(const Program&) = delete;
  ~Program() { nvrtc_.destroy(&program_); }

  api::Result compile(const std::vector<const char*>& options) {
    return nvrtc_.compile(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    size_t bytes = 0;
    if (nvrtc_.log_size(program_, &bytes) != api::kSuccess || bytes == 0) return {};
    std::string text(bytes, '\0');
    if (nvrtc_.log(program_, text.data()) != api::kSuccess) return {};
    text.resize(std::strlen(text.c_str()));
    return text;
  }
  std::string cubin() const {
    size_t bytes = 0;
    check(nvrtc_.cubin_size(program_, &bytes), "nvrtcGetCUBINSize");
    std::string image(bytes, '\0');
    check(nvrtc_.cubin(program_, image.data()), "nvrtcGetCUBIN");
    return image;
  }

 private:
  void check(api::Result r, const char* what) const {
    if (r != api::kSuccess) throw CompileError(std::string(what) + ": NVRTC error " + std::to_string(r));
  }
  const api::Nvrtc& nvrtc_;
  api::NvrtcProgram program_ = nullptr;
};

}  // namespace

Cubin compile(const std::string& text, const std::string& name, int architecture, int driver_major) {
  const api::Nvrtc& nvrtc = api::nvrtc(driver_major);
  const std::string arch = "sm_" + std::to_string(architecture);
  if (!nvrtc.architectures.empty() && std::find(nvrtc.architectures.begin(), nvrtc.architectures.end(),
                                                architecture) == nvrtc.architectures.end())
    throw DeviceError("NVRTC " + std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) +
                      " does not compile for " + arch);
  const std::string arch_option = "-arch=" + arch;
  // These options mean: no library headers. The stack limit is left to the process. The assembler reports
  // registers and spills, which NVRTC's own cache on disk does not keep: where there is a driver, a text that
  // was compiled before would come without them. a * b + c stays two roundings. The last two, of which
  // `--minimal` saves time, are not known to the first ones of CUDA 12, which have no such cache.
  std::vector<const char*> options = {arch_option.c_str(), "--std=c++17", "--modify-stack-limit=false",
                                      "-Xptxas=-v",        "-fmad=false", "-default-device",
                                      "--minimal",         "--no-cache"};
  Program program(nvrtc, text, name + ".cu");
  api::Result r = program.compile(options);
  for (int newer = 0; newer < 2 && r == api::kNvrtcInvalidOption; ++newer) {
    options.pop_back();
    r = program.compile(options);
  }
  Cubin made;
  made.log = without_times(program.log());
  if (r != api::kSuccess)
    throw CompileError("kernel " + name + " does not compile for " + arch + ": NVRTC error " +
                       std::to_string(r) + "\n" + made.log + numbered(text));
  made.bytes = program.cubin();
  return made;
}

std::vector<FunctionUse> functions_in(const std::string& log) {
  std::vector<FunctionUse> all;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    char name[512];
    if (const size_t p = line.find("Compiling entry function '"); p != line.npos) {
      if (std::sscanf(line.c_str() + p, "Compiling entry function '%511[^']'", name) == 1)
        all.push_back({name});
    }
    if (all.empty()) continue;
    FunctionUse& f = all.back();
    // "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    // "ptxas info    : Used 32 registers, used 1 barriers, 16384 bytes smem"
    const auto before = [&](const char* words, int& n) {
      const size_t p = line.find(words);
      if (p == line.npos) return;
      size_t digits = p;
      while (digits > 0 && line[digits - 1] >= '0' && line[digits - 1] <= '9') --digits;
      n = std::atoi(line.c_str() + digits);
    };
    before(" bytes stack frame", f.stack_bytes);
    before(" bytes spill stores", f.spill_stores);
    before(" bytes spill loads", f.spill_loads);
    before(" registers", f.registers);
    before(" bytes smem", f.shared_bytes);
  }
  return all;
}

std::vector<int> architectures_in(const std::string& list) {
  std::vector<int> all;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string one = list.substr(at, end - at);
    at = end + 1;
    int number = 0;
    const char* const last = one.data() + one.size();
    if (one.rfind("sm_", 0) != 0 || std::from_chars(one.data() + 3, last, number).ptr != last ||
        number < 50 || number > 999)
      throw ConfigError("LAZY_CUDA_ARCHS: " + text::quoted(one) + " is not an architecture; sm_90 is one");
    all.push_back(number);
  }
  return all;
}

}  // namespace lazy::cuda_backend
