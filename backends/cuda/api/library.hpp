// Opens CUDA's shared libraries when they are first needed; they are never closed. LAZY_CUDA_PATH alone is
// searched if it is set; otherwise what the dynamic linker finds, the folders of NVIDIA's Python packages (of
// $VIRTUAL_ENV, $CONDA_PREFIX and the system), $CUDA_HOME and $CUDA_PATH, /usr/local/cuda.
#pragma once
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>

#include "support/error.hpp"
#include "support/lock.hpp"
#include "support/optional_library.hpp"

namespace lazy::cuda_backend::api {

class SharedLibrary {
 public:
  /// Opens the first of `names` that can be opened. Throws DeviceError: "no <what>: looked for ... in ...".
  SharedLibrary(const char* what, std::initializer_list<const char*> names);

  /// Returns whether the symbol is there, and sets the function to it.
  template <class F>
  bool find(const char* symbol, F& f) const {
    return library_.find(symbol, f);
  }
  /// Throws DeviceError if the library has no such symbol.
  template <class F>
  void bind(F& f, const char* symbol) const {
    if (!find(symbol, f)) fail(symbol);
  }
  const std::string& path() const { return library_.file(); }

 private:
  [[noreturn]] void fail(const char* symbol) const;
  std::string what_;
  OptionalLibrary library_;
};

/// Holds the functions of a library, which the first call loads. The error of a load that failed is thrown
/// again at each call.
template <class Table>
class LoadedOnce {
 public:
  template <class Load>
  const Table& get(Load&& load) {
    const std::lock_guard hold(lock_);
    if (table_) return *table_;
    if (failed_) throw DeviceError(*failed_);
    try {
      return table_.emplace(load());
    } catch (const DeviceError& e) {
      failed_ = e;
      throw;
    }
  }

 private:
  Mutex lock_;
  std::optional<Table> table_;
  std::optional<DeviceError> failed_;
};

}  // namespace lazy::cuda_backend::api
