// Knows which memory is pages of files, mapped to be read alone: the system can drop such pages and read them
// again. Who has made another form of what lies there gives them back, so that a process has one copy of it
// in memory.
#pragma once
#include <atomic>
#include <cstddef>

namespace lazy::file_pages {

namespace detail {
inline constinit std::atomic<size_t> mappings{0};
}

/// Notes a mapping that nobody writes to, until remove(), which comes before it is unmapped. Throws
/// std::bad_alloc.
void add(const void* begin, size_t bytes);
void remove(const void* begin) noexcept;

/// Returns whether there is any mapping.
inline bool any() noexcept { return detail::mappings.load(std::memory_order_relaxed) > 0; }
/// Returns whether all of this memory lies in one mapping.
bool holds(const void* begin, size_t bytes) noexcept;
/// Gives back the whole pages of this memory that lie in one mapping; does nothing with other memory. Others
/// may read it meanwhile: they get the pages again.
void give_back(const void* begin, size_t bytes) noexcept;

}  // namespace lazy::file_pages
