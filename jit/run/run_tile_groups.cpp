#include "jit/run/execution.hpp"

#include "jit/observe/profile.hpp"
#include "jit/plan/names.hpp"
#include "jit/plan/tiling/skips.hpp"
#include "support/arithmetic.hpp"
#include "support/metrics.hpp"
#include "support/nvtx.hpp"
#include "support/shares.hpp"

namespace lazy::jit {
namespace {

// A thread takes its blocks in so many goes: others do what is left if it is late.
constexpr int64_t kGoes = 16;

/// Measures the time that the steps of a tile group take, block by block, on all threads, for LAZY_PROFILE.
class TileGroupTimer {
 public:
  explicit TileGroupTimer(size_t steps)
      : start_(profile::start_time()), spent_(start_ ? steps : 0), outer_(profile::activity) {
    if (start_) profile::activity = {"tile_group", 0, false};  // its kernels replace this thread's parts
  }
  TileGroupTimer(const TileGroupTimer&) = delete;
  ~TileGroupTimer() {
    if (start_) profile::activity = outer_;
  }
  void finish(const Program& p, const TileGroup& b, int64_t blocks, const uint64_t* words) const {
    if (start_)
      event::tile_group(start_, profile::now(), p, b, blocks, {spent_.begin(), spent_.end()}, words);
  }

  /// Measures one thread's share.
  class Piece {
   public:
    explicit Piece(TileGroupTimer& all) : all_(all), spent_(all.spent_.size()) {}
    Piece(const Piece&) = delete;
    ~Piece() {
      for (size_t i = 0; i < spent_.size(); ++i)
        all_.spent_[i].fetch_add(spent_[i], std::memory_order_relaxed);
    }
    void begin() {
      if (!spent_.empty()) last_ = profile::now();
    }
    void end_of(size_t step) {
      if (spent_.empty()) return;
      const profile::Ticks now = profile::now();
      spent_[step] += now - std::exchange(last_, now);
    }

   private:
    TileGroupTimer& all_;
    std::vector<uint64_t> spent_;
    profile::Ticks last_ = 0;
  };

 private:
  const profile::Ticks start_;
  std::vector<std::atomic<uint64_t>> spent_;
  const profile::Activity outer_;
};

}  // namespace

Run::Planned& Run::planned(const TileGroup& tile_group) {
  auto& all = arguments_.planned;
  for (size_t i = 0; i < planned_; ++i)
    if (all[i]->tile_group == &tile_group) return *all[i];
  if (planned_ == all.size()) all.push_back(std::make_unique<Planned>());
  Planned& fresh = *all[planned_++];
  fresh = {&tile_group, choose_blocks(p_, tile_group, f_, backend_.workers())};
  return fresh;
}

void Run::allocate_scratch(const Blocks& blocks) {
  const size_t bytes = blocks.piece_bytes * static_cast<size_t>(blocks.pieces);
  if (scratch_ && scratch_->bytes() >= bytes) return;
  scratch_.reset();
  scratch_ = BufferRef::allocate(backend_, bytes);
}

bool Run::row_by_row(const TileGroup& tile_group) {
  const size_t end = tile_group.first + tile_group.count;
  // Inner values have addresses that count from 0. Results that aren't made yet have no valid address, but
  // takes() reads those of operands only.
  std::vector<char*> outer(tile_group.inner.size());
  for (size_t k = 0; k < outer.size(); ++k) outer[k] = std::exchange(address_[tile_group.inner[k]], nullptr);
  size_t count = 0;
  bool any = true;
  for (size_t i = tile_group.first; i < end; ++i) {
    count += static_cast<size_t>(p_.steps[i].args.words());
    any &= bind(i);
  }
  const uint64_t* const words = arguments_.words(tile_group.first);
  if (!any || !tile_group.rows->takes(words)) {
    for (size_t k = 0; k < outer.size(); ++k) address_[tile_group.inner[k]] = outer[k];
    return false;
  }
  for (size_t i = tile_group.first; i < end; ++i)
    for (uint32_t slot : p_.steps[i].made)
      if (!buffers_[slot] &&
          std::find(tile_group.inner.begin(), tile_group.inner.end(), slot) == tile_group.inner.end()) {
        char* const before = address_[slot];
        make(slot, i);
        if (address_[slot] != before) any = false;
      }
  if (!any)
    for (size_t i = tile_group.first; i < end; ++i) (void)bind(i);
  const nvtx::Range range([&] { return "rows up to " + step_line(p_.steps[end - 1], &f_); });
  const profile::Ticks start = profile::start_time();
  if (capture_) {
    Change change;
    for (size_t i = tile_group.first; i < end; ++i) {
      change.address_bits |= arguments_.changed(i).address_bits;
      change.scalars |= arguments_.changed(i).scalars;
    }
    capture_->launch(*tile_group.rows, words, count, change);
    for (size_t i = tile_group.first; i < end; ++i) arguments_.note_captured(i);
  } else {
    const Words w(words, count);
    tile_group.rows->launch(w.data);
  }
  launches_ += 1;
  metric::add(MetricCounter::tile_groups);
  if (start) {
    if (!backend_.host()) backend_.synchronize();
    event::tile_group(start, profile::now(), p_, tile_group, 1, std::vector<uint64_t>(tile_group.count, 1),
                      words);
  }
  for (size_t i = tile_group.first; i < end; ++i)
    for (uint32_t slot : p_.steps[i].dead) release(slot);
  return true;
}

void Run::block_by_block(Planned& plan) {
  const TileGroup& tile_group = *plan.tile_group;
  const Blocks& blocks = plan.blocks;
  allocate_scratch(blocks);
  const size_t end = tile_group.first + tile_group.count;
  for (const uint32_t copy : std::exchange(unmade_, {})) make_copy(copy);
  for (size_t i = 0; i < tile_group.inner.size(); ++i)
    address_[tile_group.inner[i]] = reinterpret_cast<char*>(blocks.offset[i]);
  const auto is_inner = [&](int slot) {
    return slot >= 0 &&
           std::find(tile_group.inner.begin(), tile_group.inner.end(), slot) != tile_group.inner.end();
  };
  std::vector<BlockArguments> steps;
  std::vector<uint64_t> words;
  std::vector<uint8_t> in_scratch;
  for (size_t i = tile_group.first; i < end; ++i)
    for (uint32_t slot : p_.steps[i].made)
      if (!buffers_[slot] && !is_inner(static_cast<int>(slot))) make(slot, i);
  for (size_t i = tile_group.first; i < end; ++i) {
    const Step& s = p_.steps[i];
    const size_t at = words.size();
    bind(i);
    words.insert(words.end(), arguments_.words(i), arguments_.words(i) + s.args.words());
    in_scratch.clear();
    for (const Binding& b : s.operands) in_scratch.push_back(is_inner(b.slot));
    bool read_again = false;
    for (uint32_t slot : s.made) {
      read_again |= is_inner(static_cast<int>(slot));
      for (size_t later = i + 1; later < end; ++later)
        for (const Binding& b : p_.steps[later].operands) read_again |= b.slot == static_cast<int>(slot);
    }
    if (!read_again) s.kernel->plan_parts(words.data() + at);
    steps.emplace_back(s, tile_group.dim_of.data() + (i - tile_group.first) * tile_group.levels.size(),
                       blocks, f_, words.data() + at, in_scratch);
  }
  const Skipping skipping(p_, tile_group, blocks, [&](size_t i) { return arguments_.words(i); });
  const std::vector<BufferRef> packs =
      skipping.any() ? std::vector<BufferRef>() : packed(tile_group, words.data());
  Shares shares(blocks.count, blocks.pieces,
                blocks.pieces == 1 ? blocks.count : divide_up(blocks.count, kGoes * blocks.pieces));
  TileGroupTimer timer(steps.size());
  const bool timed = profile::on() && !backend_.host();
  backend_.for_each(blocks.pieces, [&](int64_t piece) {
    std::vector<uint64_t> mine = words;
    TileGroupTimer::Piece time(timer);
    char* const memory =
        static_cast<char*>(scratch_->data()) + static_cast<size_t>(piece) * blocks.piece_bytes;
    bool skips = false;
    const auto one_block = [&](int64_t n, bool first) {
      int64_t index[kMaxRank];
      index[blocks.level] = n % blocks.cuts * blocks.length;
      for (int64_t l = blocks.level, rest = n / blocks.cuts; l-- > 0; rest /= blocks.extent[l])
        index[l] = rest % blocks.extent[l];
      const int64_t length = std::min(blocks.length, blocks.extent[blocks.level] - index[blocks.level]);
      uint64_t* w = mine.data();
      if (skipping.any() && (first || index[blocks.level] == 0)) {
        skips = true;
        for (size_t i = 0; i < steps.size() && skips; ++i) {
          steps[i].move(index, length, memory, w);
          skips = skipping.finite(tile_group.first + static_cast<uint32_t>(i), w);
          w += p_.steps[tile_group.first + i].args.words();
        }
        w = mine.data();
      }
      time.begin();
      for (size_t i = 0; i < steps.size(); ++i) {
        const Step& s = p_.steps[tile_group.first + i];
        steps[i].move(index, length, memory, w);
        if (skips)
          skipping.shorten(tile_group.first + static_cast<uint32_t>(i), index[blocks.level], length, w);
        if (skips) s.kernel->launch_here(w);
        else launch_block(tile_group, i, mine.data(), w);
        if (skips) skipping.finish(tile_group.first + static_cast<uint32_t>(i), w);
        if (timed) backend_.synchronize();
        time.end_of(i);
        w += s.args.words();
      }
    };
    for (int64_t first, last; shares.take(piece, first, last);)
      for (int64_t n = first; n < last; ++n) one_block(n, n == first);
  });
  timer.finish(p_, tile_group, blocks.count, words.data());
  launches_ += tile_group.count;
  metric::add(MetricCounter::tile_groups);
  for (size_t i = tile_group.first; i < end; ++i)
    for (uint32_t slot : p_.steps[i].dead) release(slot);
}

std::vector<BufferRef> Run::packed(const TileGroup& tile_group, uint64_t* words) {
  std::vector<BufferRef> packs;
  const size_t levels = tile_group.levels.size();
  for (size_t k = 0; k < tile_group.count; words += p_.steps[tile_group.first + k].args.words(), ++k) {
    const Step& s = p_.steps[tile_group.first + k];
    const int o = s.sequential < 0 || !s.folds.empty() ? -1 : s.kernel->packs();
    if (o < 0) continue;
    bool moves = false;  // another block has another part of the operand
    for (size_t l = 0; l < levels; ++l)
      moves |= words[s.args.stride(o, s.axis_of[tile_group.dim_of[k * levels + l]])] != 0;
    if (moves) continue;
    BufferRef pack = packed(s, words, {});
    if (!pack) continue;
    words[loop::ArgLayout::kPacked] = reinterpret_cast<uint64_t>(pack->data());
    packs.push_back(std::move(pack));
  }
  return packs;
}

void Run::launch_block(const TileGroup& tile_group, size_t i, uint64_t* words, uint64_t* mine) const {
  const Step& s = p_.steps[tile_group.first + i];
  if (s.folded_into < tile_group.first + tile_group.count) return;
  FoldedOperands folds;
  for (const Step::Folds& f : s.folds) {
    if (f.step < tile_group.first) continue;
    uint64_t* w = words;
    for (size_t k = tile_group.first; k < f.step; ++k) w += p_.steps[k].args.words();
    const FoldedCopy copy{f.operand, p_.steps[f.step].kernel.get(), w};
    if (auto operand = s.kernel->fold(mine, copy)) folds.push_back(std::move(operand));
    else copy.copy->launch_here(w);
  }
  if (folds.empty()) s.kernel->launch_here(mine);
  else s.kernel->launch_folded(mine, folds, true);
}

}  // namespace lazy::jit
