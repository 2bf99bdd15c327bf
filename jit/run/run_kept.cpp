// Takes results of inputs that stay as they are from those that are kept, and keeps what is made of them.
#include <algorithm>

#include "jit/backend/kept_results.hpp"
#include "jit/plan/names.hpp"
#include "jit/run/execution.hpp"
#include "support/config.hpp"
#include "support/file_pages.hpp"

namespace lazy::jit {
namespace {

// A copy of fewer bytes takes no longer than finding it, where it stays only until its input is overwritten.
constexpr size_t kLeastCopied = 4096;
// A result so many times as large as what it is made of is computed again rather than kept.
constexpr size_t kMostTimesAsLarge = 16;
// The first word of what names a packed operand, where others have the address of a kernel.
constexpr uint64_t kPackedOperand = 1;

bool keeps_results() { return config::get().keep_mb.get() > 0; }

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

}  // namespace

bool Run::reads_unchanging(const Step& s) const {
  return std::all_of(s.operands.begin(), s.operands.end(), [&](const Binding& b) {
    if (b.output) return true;
    const BufferRef& buffer = buffer_of(b);
    return buffer && buffer->unchanging();
  });
}

bool Run::may_keep_any(const TileGroup& tile_group) const {
  if (!donate_ || reserved_) return false;
  const auto first = p_.steps.begin() + tile_group.first;
  return std::any_of(first, first + tile_group.count,
                     [&](const Step& s) { return s.of_inputs && reads_unchanging(s); }) &&
         keeps_results();
}

/// A launch is named by its kernel and its words, where those of addresses have the place in the buffer.
void Run::name_step(size_t i) {
  const Step& s = p_.steps[i];
  Arguments::Kept& to = arguments_.kept;
  to.words.assign(1, address(s.kernel.get()));
  to.words.insert(to.words.end(), arguments_.words(i), arguments_.words(i) + s.args.words());
  to.beside.clear();
  for (size_t o = 0; o < s.operands.size(); ++o) {
    uint64_t& word = to.words[1 + static_cast<size_t>(s.args.pointer(static_cast<int>(o)))];
    if (s.operands[o].output) {  // which part of its memory it writes
      word -= address(address_[static_cast<size_t>(s.operands[o].slot)]);
      continue;
    }
    Buffer& b = *buffer_of(s.operands[o]).get();
    word -= address(b.data());
    to.words.push_back(b.identity());
    to.beside.push_back(b.identity());
  }
}

bool Run::take_kept(size_t i) {
  const Step& s = p_.steps[i];
  // Once an input was overwritten, memory is planned to the end of the run, with all results computed.
  if (!donate_ || reserved_) return false;
  const bool unchanging = reads_unchanging(s);
  if (!unchanging && !s.relayout) return false;
  if (!keeps_results()) return false;
  size_t bytes = 0, of = 0;
  for (const uint32_t slot : s.made) bytes += bytes_of(slot);
  for (const Binding& b : s.operands)
    if (!b.output) of += lazy::bytes_of(f_.values[b.node]->shape, b.dtype);
  if (unchanging) {
    if (bytes > kMostTimesAsLarge * of) return false;
  } else {
    // A copy larger than the input, as the windows of an image are, is not worth its memory.
    const Buffer& from = *buffer_of(s.operands[s.operands[0].output]).get();
    if (from.borrowed() || bytes < kLeastCopied || bytes > from.bytes()) return false;
  }
  if (!bind(i)) return false;
  name_step(i);
  Arguments::Kept& kept = arguments_.kept;
  kept.made.resize(s.made.size());
  kept::Claim claim;
  const bool there = kept::ask({kept.words, kept.beside, &s.kernel, bytes, !unchanging}, kept.made, claim);
  if (!there) {
    if (!claim) return false;
    for (size_t k = 0; k < s.made.size(); ++k)
      if (!(kept.made[k] = memory_to_keep(bytes_of(s.made[k]), s))) return kept.made.clear(), false;
  }
  for (size_t k = 0; k < s.made.size(); ++k) {
    buffers_[s.made[k]] = kept.made[k];
    address_[s.made[k]] = static_cast<char*>(kept.made[k]->data());
  }
  if (!there) {
    launch(i);
    claim.keep(kept.made, unchanging ? Stays::yes : Stays::shared);
    // The kept copy is read in the place of pages of a file.
    if (file_pages::any())
      for (const Binding& b : s.operands)
        if (!b.output) file_pages::give_back(buffer_of(b)->data(), buffer_of(b)->bytes());
  }
  kept.made.clear();
  for (const uint32_t dead : s.dead) release(dead);
  return true;
}

BufferRef Run::packed(const Step& s, const uint64_t* words, const FoldedOperands& folds) {
  const int o = s.kernel->packs();
  if (o < 0 || !donate_) return {};
  const BufferRef& from = buffer_of(s.operands[static_cast<size_t>(o)]);
  if (!from || !from->unchanging() || !keeps_results()) return {};
  for (const auto& f : folds)
    if (f->operand == o) return {};
  Arguments::Kept& kept = arguments_.kept;
  kept.words.assign(1, kPackedOperand);
  const size_t bytes = s.kernel->packing(words, kept.words);
  if (bytes == 0) return {};
  kept.words.push_back(words[s.args.pointer(o)] - address(from->data()));
  kept.words.push_back(from->identity());
  kept.beside.assign(1, from->identity());
  BufferRef made;
  kept::Claim claim;
  // A pack of what a file has is a second copy, or has the file read again by who reads that as it lies: it
  // is kept where it is used again.
  const bool second = file_pages::holds(from->data(), from->bytes());
  if (kept::ask({kept.words, kept.beside, nullptr, bytes, second}, {&made, 1}, claim) || !claim) return made;
  if (!(made = memory_to_keep(bytes, s))) return {};
  s.kernel->pack(words, made->data());
  file_pages::give_back(from->data(), from->bytes());
  claim.keep({&made, 1}, Stays::yes);
  return made;
}

BufferRef Run::memory_to_keep(size_t bytes, const Step& s) noexcept {
  try {
    BufferRef made = BufferRef::allocate(backend_, bytes);
    made->belongs(site_of(s, f_), "kept for later runs");
    return made;
  } catch (...) { return {}; }
}

}  // namespace lazy::jit
