// Opens libraries that only some functions need, when these are first called.
#pragma once
#include <dlfcn.h>

#include <span>
#include <string>

#include "support/error.hpp"
#include "support/site.hpp"

namespace lazy {

/// Finds functions of a library, which stays open. The first that is missing makes it unusable.
class OptionalLibrary {
 public:
  explicit OptionalLibrary(const char* file) { open(file); }
  /// Opens the first of the files that can be opened.
  explicit OptionalLibrary(std::span<const std::string> files) {
    for (const std::string& file : files)
      if (open(file)) return;
  }

  /// Returns whether the symbol is there, and sets the function to it. Those of libraries that it needs are
  /// found, too.
  template <class F>
  bool find(const std::string& symbol, F& function) const {
    function = handle_ ? reinterpret_cast<F>(dlsym(handle_, symbol.c_str())) : nullptr;
    return function != nullptr;
  }
  template <class F>
  OptionalLibrary& need(const std::string& symbol, F& function) {
    if (!find(symbol, function) && why_.empty()) why_ = "it lacks " + symbol;
    return *this;
  }
  /// Returns why it can't be used; empty if it can.
  const std::string& why() const { return why_; }
  /// Returns the file that was opened; empty if none was.
  const std::string& file() const { return file_; }

 private:
  bool open(const std::string& file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) return file_ = file, why_.clear(), true;
    const char* const error = dlerror();
    const std::string why = error ? error : file + " can't be opened";
    // A library that is there but can't be opened says more than one that is not there.
    if (why_.empty() || why.find("No such file") == why.npos) why_ = why;
    return false;
  }
  void* handle_ = nullptr;
  std::string file_, why_;
};

/// Throws DeviceError unless `why` is empty: `op` needs `what`, which Debian has in `package`.
inline void check_opened(const char* op, const char* what, const std::string& why, const char* package,
                         const Site& site) {
  if (!why.empty())
    throw DeviceError(std::string(op) + " needs " + what + ", which can't be opened (" + why +
                          "). On Debian: apt-get install " + package,
                      site);
}

}  // namespace lazy
