#include "support/file_pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <map>

#include "support/lock.hpp"

namespace lazy::file_pages {
namespace {

using Mappings = std::map<uintptr_t, size_t>;  // bytes, by where they begin

constinit Mutex mutex;
constinit Mappings* the_mappings =
    nullptr;  // never destroyed: files are unmapped at the very end of a process
constexpr uintptr_t kPage = 4096;

/// Returns whether memory lies in one mapping, whose last page is whole. Invariant: the mutex is held.
bool within(uintptr_t first, uintptr_t last) {
  if (!the_mappings) return false;
  const auto after = the_mappings->upper_bound(first);
  if (after == the_mappings->begin()) return false;
  const auto& [from, size] = *std::prev(after);
  return last <= (from + size + kPage - 1) / kPage * kPage;
}

}  // namespace

void add(const void* begin, size_t bytes) {
  const Hold hold(mutex);
  if (!the_mappings || !hold.intact()) the_mappings = new Mappings;
  (*the_mappings)[reinterpret_cast<uintptr_t>(begin)] = bytes;
  detail::mappings.store(the_mappings->size(), std::memory_order_relaxed);
}

void remove(const void* begin) noexcept {
  const Hold hold(mutex);
  if (!the_mappings || !hold.intact()) return;
  the_mappings->erase(reinterpret_cast<uintptr_t>(begin));
  detail::mappings.store(the_mappings->size(), std::memory_order_relaxed);
}

bool holds(const void* begin, size_t bytes) noexcept {
  if (!any()) return false;
  const Hold hold(mutex);
  return hold.intact() &&
         within(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes);
}

void give_back(const void* begin, size_t bytes) noexcept {
  if (!any()) return;
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + bytes) / kPage * kPage;
  if (last <= first) return;
  // Held until the pages are gone: nobody unmaps them, and maps other memory there, meanwhile.
  const Hold hold(mutex);
  if (hold.intact() && within(first, last))
    (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace lazy::file_pages
