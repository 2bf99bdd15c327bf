// Implements NVRTC's functions (backends/cuda/api/nvrtc.def).
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/compiler.hpp"
#include "tests/emulated_cuda/handles.hpp"
#include "tests/emulated_cuda/image.hpp"
#include "tests/emulated_cuda/scan.hpp"
#include "tests/emulated_cuda/settings.hpp"
#include "tests/emulated_cuda/shared_memory.hpp"
#include "tests/emulated_cuda/unchecked.hpp"

struct lazy::cuda_backend::api::NvrtcProgramStruct {
  std::string text, name, log, image;
};

namespace emulated {

// Declared as they are exported: a definition that differs from its row does not compile.
extern "C" {
#define LAZY_NVRTC(field, name, ...) __attribute__((visibility("default"))) Result name(__VA_ARGS__);
#include "backends/cuda/api/nvrtc.def"
}

namespace {

// Values of nvrtcResult.
constexpr Result kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kCompilation = 6;

constexpr int kArchs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Options {
  int arch = 75;
  bool verbose = false;   // -Xptxas=-v
  bool no_cache = false;  // --no-cache
};

/// True if `option` is `name` with a value, which is put into `value`.
bool is(std::string_view option, std::string_view name, std::string_view& value) {
  if (option.substr(0, name.size()) != name || option.size() <= name.size() || option[name.size()] != '=')
    return false;
  value = option.substr(name.size() + 1);
  return true;
}

/// Reads an option; returns NVRTC's message, or empty.
std::string read_option(std::string_view option, Options& options) {
  std::string_view value;
  if (is(option, "-arch", value) || is(option, "--gpu-architecture", value)) {
    for (const int arch : kArchs) {
      if (value == "sm_" + std::to_string(arch)) {
        options.arch = arch;
        return {};
      }
    }
    return "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
  }
  if (is(option, "-Xptxas", value) || is(option, "--ptxas-options", value)) {
    if (value != "-v") return "nvrtc: error: ptxas option " + std::string(value) + " is not known here\n";
    options.verbose = true;
    return {};
  }
  if (is(option, "-fmad", value) || is(option, "--fmad", value)) {
    // Contraction is the compiler's choice, so right and wrong results could not be distinguished.
    return value == "false" ? "" : "nvrtc: error: only -fmad=false is emulated\n";
  }
  if (option == "--no-cache" || option == "-no-cache") {
    options.no_cache = true;
    return {};
  }
  for (const char* known :
       {"--minimal", "-minimal", "--modify-stack-limit=false", "--std=c++17", "-std=c++17", "-default-device",
        "--device-as-default-execution-space", "-lineinfo", "--generate-line-info"}) {
    if (option == known) return {};
  }
  return "nvrtc: error: unrecognized option " + std::string(option) + " found\n";
}

/// Returns ptxas' message for kernels with too many __shared__ variables; empty if there are none.
std::string too_large(const std::string& text, const std::vector<SharedVariable>& variables) {
  std::string log;
  for (const FoundKernel& kernel : find_kernels(text)) {
    const size_t bytes = bytes_of(variables, kernel.name);
    if (bytes <= kDefaultSharedBytes) continue;
    log += "ptxas error   : Entry function '" + kernel.name + "' uses too much shared data (" +
           std::to_string(bytes) + " bytes, " + std::to_string(kDefaultSharedBytes) + " max)\n";
  }
  return log;
}

/// Returns ptxas' output with -v. There are no registers here, so all kernels have the same number.
std::string resources(const std::string& text, const std::vector<SharedVariable>& variables, int arch) {
  std::string log = "ptxas info    : 0 bytes gmem\n";
  for (const FoundKernel& kernel : find_kernels(text)) {
    const size_t shared = bytes_of(variables, kernel.name);
    log += "ptxas info    : Compiling entry function '" + kernel.name + "' for 'sm_" + std::to_string(arch) +
           "'\n";
    log += "ptxas info    : Function properties for " + kernel.name + "\n";
    log += "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    log += "ptxas info    : Used 32 registers, used " + std::to_string(shared != 0) + " barriers";
    log += (shared != 0 ? ", " + std::to_string(shared) + " bytes smem" : "") + "\n";
    log += "ptxas info    : Compile time = 0.000 ms\n";
  }
  return log;
}

/// True if the text was compiled before with the same options. NVRTC finds it in the driver's cache on disk
/// then, and tells nothing of it in its log: seen on an H200 with CUDA 13.0.
bool compiled_before(const std::string& text, int count, const char* const* options) {
  static std::mutex lock;
  static std::set<std::string>& all = *new std::set<std::string>;
  std::string key = text;
  for (int i = 0; i < count; ++i) key += std::string("\n") + options[i];
  const std::lock_guard hold(lock);
  return !all.insert(std::move(key)).second;
}

Handles& programs() {
  static Handles& all = *new Handles;
  return all;
}

Result get_text(NvrtcProgram program, std::string NvrtcProgramStruct::*member, bool terminated, char* to) {
  if (!programs().has<NvrtcProgramStruct>(program)) return kInvalidProgram;
  if (to == nullptr) return kInvalidInput;
  const std::string& text = program->*member;
  std::memcpy(to, text.c_str(), text.size() + terminated);
  return kSuccess;
}

}  // namespace

Result nvrtcVersion(int* major, int* minor) {
  if (const auto injected = count_call(__func__)) return *injected;
  *major = 13;
  *minor = 0;
  return kSuccess;
}

Result nvrtcGetNumSupportedArchs(int* count) {
  if (const auto injected = count_call(__func__)) return *injected;
  *count = static_cast<int>(std::size(kArchs));
  return kSuccess;
}

Result nvrtcGetSupportedArchs(int* archs) {
  if (const auto injected = count_call(__func__)) return *injected;
  std::copy(std::begin(kArchs), std::end(kArchs), archs);
  return kSuccess;
}

Result nvrtcCreateProgram(NvrtcProgram* program, const char* source, const char* name, int headers,
                          const char* const*, const char* const*) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (program == nullptr || source == nullptr || headers != 0) return kInvalidInput;
  *program = new NvrtcProgramStruct{source, name == nullptr ? "default_program" : name, {}, {}};
  programs().add(*program);
  return kSuccess;
}

Result nvrtcDestroyProgram(NvrtcProgram* program) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (program == nullptr || !programs().has<NvrtcProgramStruct>(*program)) return kInvalidProgram;
  programs().remove(*program);
  delete *program;
  *program = nullptr;
  return kSuccess;
}

Result nvrtcCompileProgram(NvrtcProgram program, int count, const char* const* options) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!programs().has<NvrtcProgramStruct>(program)) return kInvalidProgram;
  program->log.clear();
  program->image.clear();
  Options read;
  for (int i = 0; i < count; ++i) {
    program->log = read_option(options[i], read);
    if (!program->log.empty()) return kInvalidOption;
  }
  if (!read.no_cache && compiled_before(program->text, count, options)) read.verbose = false;
  const std::string text = without_comments(program->text);
  if (settings().at_launch) {
    note_unchecked(program->name, text);
    if (read.verbose) program->log += resources(text, {}, read.arch);
    program->image = make_image({read.arch, {}, program->name, text});
    return kSuccess;
  }
  const std::string source = wrap(text, program->name, find_kernels(text));
  Compiled compiled = compile(source, Effort::little);
  program->log = std::move(compiled.log);
  if (!compiled.ok) return kCompilation;
  const auto variables = shared_variables(compiled.elf);
  if (const std::string error = too_large(text, variables); !error.empty()) {
    program->log += error;
    return kCompilation;
  }
  if (read.verbose) program->log += resources(text, variables, read.arch);
  program->image = make_image({read.arch, compiled.elf, program->name, text});
  return kSuccess;
}

Result nvrtcGetProgramLogSize(NvrtcProgram program, size_t* bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!programs().has<NvrtcProgramStruct>(program)) return kInvalidProgram;
  *bytes = program->log.size() + 1;
  return kSuccess;
}

Result nvrtcGetProgramLog(NvrtcProgram program, char* log) {
  if (const auto injected = count_call(__func__)) return *injected;
  return get_text(program, &NvrtcProgramStruct::log, true, log);
}

Result nvrtcGetCUBINSize(NvrtcProgram program, size_t* bytes) {
  if (const auto injected = count_call(__func__)) return *injected;
  if (!programs().has<NvrtcProgramStruct>(program)) return kInvalidProgram;
  *bytes = program->image.size();
  return kSuccess;
}

Result nvrtcGetCUBIN(NvrtcProgram program, char* cubin) {
  if (const auto injected = count_call(__func__)) return *injected;
  return get_text(program, &NvrtcProgramStruct::image, false, cubin);
}

}  // namespace emulated
