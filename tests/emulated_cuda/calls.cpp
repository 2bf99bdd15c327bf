#include "tests/emulated_cuda/calls.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulated_cuda/emulated_cuda.hpp"
#include "tests/emulated_cuda/settings.hpp"

namespace emulated {
namespace {

struct Calls {
  int64_t count = 0;
  std::map<int64_t, Result> failures;  // by the number of the call
};

std::mutex mutex;

std::map<std::string, Calls, std::less<>> all_functions() {
  return {
#define LAZY_DRIVER(field, name, ...) {#name, {}},
#include "tests/emulated_cuda/driver.def"
#define LAZY_NVRTC(field, name, ...) {#name, {}},
#include "backends/cuda/api/nvrtc.def"
#define LAZY_CUBLASLT(field, name, ...) {#name, {}},
#include "backends/cuda/api/cublaslt.def"
#define LAZY_CUFFT(field, name, ...) {#name, {}},
#include "backends/cuda/api/cufft.def"
#define LAZY_NCCL(result, field, name, ...) {#name, {}},
#include "backends/cuda/api/nccl.def"
  };
}

bool inject(std::map<std::string, Calls, std::less<>>& calls, std::string_view function, int64_t nth,
            Result result) {
  const auto found = calls.find(function);
  if (found == calls.end() || nth < 1) return false;
  found->second.failures[found->second.count + nth] = result;
  return true;
}

/// Parses function:nth:result,... and injects the failures.
bool inject_all(std::map<std::string, Calls, std::less<>>& calls, std::string_view list) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    const size_t first = one.find(':'), second = one.rfind(':');
    if (first == second) return false;
    int64_t nth = 0;
    Result result = 0;
    std::from_chars(one.data() + first + 1, one.data() + second, nth);
    std::from_chars(one.data() + second + 1, one.data() + one.size(), result);
    if (!inject(calls, one.substr(0, first), nth, result)) return false;
  }
  return true;
}

std::map<std::string, Calls, std::less<>> fresh() {
  auto calls = all_functions();
  if (!inject_all(calls, settings().inject)) {
    std::fprintf(stderr, "emulated_cuda: EMULATED_CUDA_INJECT=%s is not understood\n",
                 settings().inject.c_str());
    std::_Exit(2);
  }
  return calls;
}

auto& calls() {
  static auto& all = *new auto(fresh());  // outlives the threads of streams
  return all;
}

}  // namespace

std::optional<Result> count_call(std::string_view function) {
  const std::lock_guard lock(mutex);
  Calls& of = calls().find(function)->second;
  const auto failure = of.failures.find(++of.count);
  return failure == of.failures.end() ? std::nullopt : std::optional(failure->second);
}

void reset_calls() {
  const std::lock_guard lock(mutex);
  calls() = fresh();
}

}  // namespace emulated

bool emulated_cuda_inject(const char* function, int nth_call, int result) {
  const std::lock_guard lock(emulated::mutex);
  return emulated::inject(emulated::calls(), function, nth_call, result);
}

int64_t emulated_cuda_count(const char* function) {
  const std::lock_guard lock(emulated::mutex);
  const auto found = emulated::calls().find(std::string_view(function));
  return found == emulated::calls().end() ? -1 : found->second.count;
}
