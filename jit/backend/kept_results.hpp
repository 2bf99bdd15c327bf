// Keeps what was computed from memory that stays as it is, for later runs of any program on any thread:
// weights in the layout that kernels read, cast, packed for products, and what is computed from weights
// alone.
//
// A result is found by the words that name its computation: which code ran, with which arguments, and the
// identities of the buffers that it read (Buffer::identity; no word is an address of data). They are compared
// one by one, and buffers whose values change or go take their identities with them, so what is found is what
// would be computed. No key of a program depends on it, nor does any bit of a value.
//
// Who asks for what is not there makes it, and keeps it by the claim that it got; others who ask meanwhile
// make it for themselves. Results are bounded by LAZY_KEEP_MB. The least recently used one goes first, but
// only if it was not used since the new one was last asked for: of more than there is room for, as weights
// that a model passes in turn, those that are there stay, instead of all being made anew each time. Of
// results of one code beside one buffer that nobody has asked for again, a few stay.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jit/backend/buffer.hpp"

namespace lazy::jit {

class Kernel;

namespace kept {

struct Entry;  // kept_results.cpp

/// Names a result, and says what it depends on.
struct Question {
  std::span<const uint64_t> words;  // name the computation exactly, the first one the code
  std::span<const uint64_t>
      beside;  // identities of the buffers that it reads: it goes with the first of them
  const std::shared_ptr<const Kernel>* code =
      nullptr;          // whose address is in the words: kept, so that no other gets it
  size_t bytes = 0;     // of the result
  bool second = false;  // it is kept only if it was asked for before
};

/// Allows its holder to keep one result. Gives the place up at its end.
class Claim {
 public:
  Claim() = default;
  explicit Claim(Entry* e) noexcept : entry_(e) {}
  Claim(const Claim&) = delete;
  Claim& operator=(Claim&& o) noexcept {
    std::swap(entry_, o.entry_);
    return *this;
  }
  ~Claim();
  explicit operator bool() const noexcept { return entry_ != nullptr; }
  /// Keeps the buffers, one for each output. They are marked as `stays` says; nobody writes to them again.
  void keep(std::span<const BufferRef>, Stays stays) noexcept;

 private:
  Entry* entry_ = nullptr;
};

/// True if the result is there: `made` gets its buffers, of which there are as many. Else the claim is set if
/// the caller is to keep what it makes. Throws nothing: where there is no memory nothing is kept.
bool ask(const Question&, std::span<BufferRef> made, Claim&) noexcept;
/// Drops what depends on the values of this identity.
void forget(uint64_t identity) noexcept;
/// Drops everything. Returns how many bytes that were.
size_t release() noexcept;
/// Returns a moment: results are asked for before or after it.
uint64_t now() noexcept;
/// Drops results that were kept after one moment and asked for last before another one, of things that were
/// tried and will not be done again.
void release_tried(uint64_t kept_after, uint64_t asked_before) noexcept;

}  // namespace kept
}  // namespace lazy::jit
