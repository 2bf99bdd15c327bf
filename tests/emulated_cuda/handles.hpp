// Tracks which handles are alive, and of what kind: one that was destroyed, or is another kind's, is
// detected, not followed.
#pragma once
#include <mutex>
#include <typeindex>
#include <unordered_map>

namespace emulated {

class Handles {
 public:
  template <class T>
  void add(T* handle) {
    const std::lock_guard lock(mutex_);
    kinds_.insert_or_assign(handle, std::type_index(typeid(T)));
  }
  template <class T>
  void remove(T* handle) {
    const std::lock_guard lock(mutex_);
    kinds_.erase(handle);
  }
  template <class T>
  bool has(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = kinds_.find(handle);
    return found != kinds_.end() && found->second == std::type_index(typeid(T));
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    kinds_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::type_index> kinds_;
};

/// Returns the driver's handles.
Handles& handles();

}  // namespace emulated
