// Notes where the parameters, and the modules, of the process are, so that a module finds members of its own
// that nobody listed (lazy/nn/modules/listed.cpp). Noting takes a lock and a search in a tree: some 0.1 us
// when a parameter or module is made, moved or destroyed, and nothing in a step of training. Internal to
// lazy/.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "support/lock.hpp"

namespace lazy::detail {

/// Holds the addresses of living objects of one kind. All functions may be called from any thread.
class Addresses {
 public:
  /// Notes an object; without memory for that it does nothing, and the object is not found.
  void add(const void* object) noexcept;
  void remove(const void* object) noexcept;
  /// Returns the objects that begin in [begin, begin + size), ascending.
  std::vector<const void*> within(const void* begin, size_t size);
  /// Calls f with each object. None of them goes meanwhile; f must not make or destroy one.
  template <class F>
  void for_each(F&& f) {
    const Hold hold(lock_);
    for (const void* object : all(hold)) f(object);
  }

 private:
  using Set = std::set<const void*>;
  Set& all(const Hold<Mutex>&);

  Mutex lock_;
  Set* all_ = nullptr;  // never destroyed, for parameters and modules may live as long as the process
};

Addresses& parameter_addresses();
Addresses& module_addresses();

}  // namespace lazy::detail
