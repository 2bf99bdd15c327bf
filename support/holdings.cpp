#include "support/holdings.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/lock.hpp"

namespace lazy::holdings {
namespace {

using profile::Form;
using profile::Kind;
using profile::Type;

constexpr Kind kHeld{nullptr, "held", {{{"name", Type::text}, {"bytes", Type::integer}}}, Form::counter};

// A new peak is sampled when it is that much higher than the last one: so few are, and the highest is nearly.
constexpr uint64_t kHigher = 64, kAtLeast = 64 << 10;  // a 64th, bytes

struct Holder {
  const char* name = nullptr;  // interned: "main.cpp:14", or "main.cpp:14, kept for later runs"
  uint64_t bytes = 0;
  uint64_t sampled = 0;  // bytes at the last sample
  bool changed = false;  // is in `changed`
};
struct Block {
  Holder* holder = nullptr;
  uint64_t bytes = 0;
};

struct All {
  std::map<std::pair<std::string, std::string_view>, Holder> holders;  // by line and purpose
  std::unordered_map<const void*, Block> blocks;
  std::vector<Holder*> changed;  // since the last sample
  uint64_t bytes = 0, peak = 0;  // of all blocks, and of them at the highest sample
  uint32_t round = 0;            // number of the recording that the samples belong to
};

constinit Mutex mutex;
constinit All* known = nullptr;  // never destroyed: tensors may outlive static destruction
All& all(const Hold<Mutex>& hold) {
  if (!known || !hold.intact()) known = new All;
  return *known;
}

void changes(All& a, Holder& h) {
  if (!std::exchange(h.changed, true)) a.changed.push_back(&h);
}

Holder& holder_of(All& a, const Site& site, const char* purpose) {
  const std::string line = site.line() == 0 ? std::string() : to_string(site);
  const std::string_view what = purpose ? purpose : line.empty() ? "no line" : "";
  Holder& h = a.holders[{line, what}];
  if (!h.name)
    h.name = profile::intern(line + (line.empty() || what.empty() ? "" : ", ") + std::string(what));
  return h;
}

void give(All& a, Block& block, Holder& to) {
  if (block.holder == &to) return;
  if (block.holder) block.holder->bytes -= block.bytes, changes(a, *block.holder);
  block.holder = &to;
  to.bytes += block.bytes;
  changes(a, to);
}

void take_sample(All& a) {
  // A recording begins with what is there.
  if (const uint32_t round = profile::round(); std::exchange(a.round, round) != round) {
    a.peak = 0;
    for (auto& [of, holder] : a.holders) {
      holder.sampled = 0;
      changes(a, holder);
    }
  }
  a.peak = std::max(a.peak, a.bytes);
  const profile::Ticks now = profile::now();
  for (Holder* const h : a.changed) {
    h->changed = false;
    if (std::exchange(h->sampled, h->bytes) != h->bytes) profile::put(kHeld, now, now, h->name, h->bytes);
  }
  a.changed.clear();
}

}  // namespace

void allocated(const void* memory, uint64_t bytes) noexcept {
  try {
    const Hold hold(mutex);
    All& a = all(hold);
    const auto [at, fresh] = a.blocks.try_emplace(memory);
    if (!fresh) return;
    at->second.bytes = bytes;
    a.bytes += bytes;
    give(a, at->second, holder_of(a, {}, "work memory"));
  } catch (...) {}  // no memory: it is not known
}

void belongs(const void* memory, const Site& site, const char* purpose) noexcept {
  try {
    const Hold hold(mutex);
    All& a = all(hold);
    const auto at = a.blocks.find(memory);
    if (at == a.blocks.end()) return;
    give(a, at->second, holder_of(a, site, purpose));
    if (a.bytes > a.peak + a.peak / kHigher + kAtLeast) take_sample(a);
  } catch (...) {}
}

void freed(const void* memory) noexcept {
  try {
    const Hold hold(mutex);
    All& a = all(hold);
    const auto at = a.blocks.find(memory);
    if (at == a.blocks.end()) return;
    a.bytes -= at->second.bytes;
    Holder& h = *at->second.holder;
    h.bytes -= at->second.bytes;
    a.blocks.erase(at);
    changes(a, h);
  } catch (...) {}
}

void sample() noexcept {
  try {
    const Hold hold(mutex);
    take_sample(all(hold));
  } catch (...) {}
}

}  // namespace lazy::holdings
