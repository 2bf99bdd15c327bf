#include "lazy/autograd/addresses.hpp"

namespace lazy::detail {

// A child of a fork in the middle of a change starts again, with none: it finds what it makes itself.
Addresses::Set& Addresses::all(const Hold<Mutex>& hold) {
  if (!all_ || !hold.intact()) all_ = new Set;
  return *all_;
}

void Addresses::add(const void* object) noexcept {
  const Hold hold(lock_);
  try {
    all(hold).insert(object);
  } catch (...) {}
}

void Addresses::remove(const void* object) noexcept {
  const Hold hold(lock_);
  if (all_ && hold.intact()) all_->erase(object);
}

std::vector<const void*> Addresses::within(const void* begin, size_t size) {
  const Hold hold(lock_);
  Set& set = all(hold);
  return {set.lower_bound(begin), set.lower_bound(static_cast<const char*>(begin) + size)};
}

Addresses& parameter_addresses() {
  static constinit Addresses all;
  return all;
}
Addresses& module_addresses() {
  static constinit Addresses all;
  return all;
}

}  // namespace lazy::detail
