// Runs the steps of a tile group block by block, on all threads: what one step makes of a block is in cache
// when the next reads it.
#include "jit/plan/tiling/skips.hpp"
#include "jit/run/execution.hpp"
#include "jit/run/tile_group_timer.hpp"
#include "support/arithmetic.hpp"
#include "support/metrics.hpp"
#include "support/shares.hpp"

namespace lazy::jit {
namespace {

// A thread takes its blocks in so many goes: others do what is left if it is late.
constexpr int64_t kGoes = 16;

}  // namespace

/// Runs one tile group: prepare(), which binds the steps, then all blocks, then finish().
class Run::BlockRun {
 public:
  BlockRun(Run& run, const TileGroup& group, const Blocks& blocks)
      : run_(run), group_(group), blocks_(blocks), end_(group.first + group.count) {}

  /// Makes the results that outlive a block, and binds the steps' arguments.
  void prepare();
  /// Runs all blocks, by pieces that the backend's threads take.
  void all_blocks();
  void finish();

 private:
  struct Piece;  // one thread's share
  const Step& step(size_t k) const { return run_.p_.steps[group_.first + k]; }
  uint32_t number(size_t k) const { return group_.first + static_cast<uint32_t>(k); }
  bool is_inner(int slot) const {
    return slot >= 0 && std::find(group_.inner.begin(), group_.inner.end(), slot) != group_.inner.end();
  }
  bool is_read_again(size_t k) const;
  /// Returns the arguments of a step among those of all steps.
  uint64_t* words_of(uint32_t step, uint64_t* words) const {
    for (uint32_t before = group_.first; before < step; ++before) words += run_.p_.steps[before].args.words();
    return words;
  }
  void one_block(Piece&, int64_t n, bool first) const;
  void plan_launches();
  bool advances(int64_t n, bool first) const;
  /// Sets the index along each level at which a block begins, and returns its length along the last.
  int64_t place(int64_t block, int64_t* index) const;
  bool may_skip(Piece&, const int64_t* index, int64_t length) const;
  Seen seen(uint64_t* words, char* scratch, const int64_t* index, int64_t length) const;
  bool mask_is_worth_it() const;
  void launch(size_t k, uint64_t* words, uint64_t* mine) const;

  Run& run_;
  const TileGroup& group_;
  const Blocks& blocks_;
  const size_t end_;  // past its last step
  std::vector<BlockArguments> steps_;
  std::vector<uint64_t> words_;  // all steps' arguments, as bound
  std::optional<Skipping> skipping_;
  std::vector<BufferRef> packs_;  // operands that are packed once for all blocks
  std::optional<TileGroupTimer> timer_;
  // Where blocks differ by their place alone, and nobody measures steps: what changes from one to the next,
  // and all launches, with where their arguments begin.
  std::vector<BlockArguments::Change> changes_;
  std::vector<std::pair<const Kernel*, size_t>> launches_;
};

struct Run::BlockRun::Piece {
  std::vector<uint64_t> words;  // all steps' arguments, of one block
  char* scratch;
  TileGroupTimer::Piece time;
  bool skips = false;  // this block leaves out what Skipping says
};

// True if a step after this one of the tile group reads what it makes.
bool Run::BlockRun::is_read_again(size_t k) const {
  for (uint32_t slot : step(k).made) {
    if (is_inner(static_cast<int>(slot))) return true;
    for (size_t later = k + 1; later < group_.count; ++later)
      for (const Binding& b : step(later).operands)
        if (b.slot == static_cast<int>(slot)) return true;
  }
  return false;
}

void Run::BlockRun::prepare() {
  run_.allocate_scratch(blocks_);
  for (const uint32_t copy : std::exchange(run_.unmade_, {})) run_.make_copy(copy);
  for (size_t i = 0; i < group_.inner.size(); ++i)
    run_.address_[group_.inner[i]] = reinterpret_cast<char*>(blocks_.offset[i]);
  (void)run_.make_outer(group_);
  std::vector<uint8_t> in_scratch;
  for (size_t k = 0; k < group_.count; ++k) {
    const Step& s = step(k);
    const size_t i = group_.first + k, at = words_.size();
    run_.bind(i);
    words_.insert(words_.end(), run_.arguments_.words(i), run_.arguments_.words(i) + s.args.words());
    in_scratch.clear();
    for (const Binding& b : s.operands) in_scratch.push_back(is_inner(b.slot));
    if (!is_read_again(k)) s.kernel->plan_parts(words_.data() + at);
    steps_.emplace_back(s, group_.dims_of(number(k)), blocks_, run_.f_, words_.data() + at, in_scratch);
  }
  skipping_.emplace(run_.p_, group_, blocks_, [&](size_t i) { return run_.arguments_.words(i); });
  if (skipping_->by_mask_alone() && !mask_is_worth_it()) skipping_->clear();
  if (!skipping_->any()) packs_ = run_.packed(group_, words_.data());
  plan_launches();
}

void Run::BlockRun::plan_launches() {
  bool plain = !skipping_->any() && !profile::on();
  for (size_t k = 0; k < group_.count; ++k) plain &= step(k).folds.empty() && step(k).folded_into >= end_;
  if (!plain) return;
  size_t at = 0;
  for (size_t k = 0; k < group_.count; at += step(k).args.words(), ++k) {
    steps_[k].add_changes(at, changes_);
    launches_.emplace_back(step(k).kernel.get(), at);
  }
}

void Run::BlockRun::all_blocks() {
  timer_.emplace(group_.count);
  Shares shares(blocks_.count, blocks_.pieces,
                blocks_.pieces == 1 ? blocks_.count : divide_up(blocks_.count, kGoes * blocks_.pieces));
  run_.backend_.for_each(blocks_.pieces, [&](int64_t n) {
    char* const scratch = static_cast<char*>(run_.scratch_->data());
    Piece piece{words_, scratch + static_cast<size_t>(n) * blocks_.piece_bytes,
                TileGroupTimer::Piece(*timer_)};
    for (int64_t first, last; shares.take(n, first, last);)
      for (int64_t block = first; block < last; ++block) one_block(piece, block, block == first);
  });
}

// True if nothing that the block would leave out has to be finite, and is not.
bool Run::BlockRun::may_skip(Piece& piece, const int64_t* index, int64_t length) const {
  uint64_t* w = piece.words.data();
  for (size_t k = 0; k < group_.count; w += step(k).args.words(), ++k) {
    steps_[k].move(index, length, piece.scratch, w);
    if (!skipping_->finite(number(k), w)) return false;
  }
  return true;
}

int64_t Run::BlockRun::place(int64_t block, int64_t* index) const {
  const int level = blocks_.level;
  index[level] = block % blocks_.cuts * blocks_.length;
  for (int64_t l = level, rest = block / blocks_.cuts; l-- > 0; rest /= blocks_.extent[l])
    index[l] = rest % blocks_.extent[l];
  return std::min(blocks_.length, blocks_.extent[level] - index[level]);
}

/// Returns what the mask lets a block see. `words` are all steps' arguments.
Seen Run::BlockRun::seen(uint64_t* words, char* scratch, const int64_t* index, int64_t length) const {
  const uint32_t masked = group_.mask.step;
  uint64_t* const own = words_of(masked, words);
  steps_[masked - group_.first].move(index, length, scratch, own);
  return skipping_->seen(own);
}

// True if the mask hides enough of a sample of the blocks to go without sides that are packed for all blocks.
bool Run::BlockRun::mask_is_worth_it() const {
  constexpr int64_t kSample = 64, kWorth = 8;  // one part in so many
  std::vector<uint64_t> words = words_;
  const int64_t extent = skipping_->mask_extent(words_of(group_.mask.step, words.data())),
                n = std::min(blocks_.count, kSample);
  int64_t hidden = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t index[kMaxRank];
    const int64_t length = place(i * blocks_.count / n, index);
    const Seen s = seen(words.data(), nullptr, index, length);
    hidden += extent - std::max<int64_t>(s.end - s.begin, 0);
  }
  return hidden * kWorth >= extent * n;
}

/// True if block n differs from the one before, which this piece has just done, by its place alone.
bool Run::BlockRun::advances(int64_t n, bool first) const {
  const int64_t cut = n % blocks_.cuts;
  return !first && cut > 0 && (cut + 1) * blocks_.length <= blocks_.extent[blocks_.level];
}

void Run::BlockRun::one_block(Piece& piece, int64_t n, bool first) const {
  if (!launches_.empty() && advances(n, first)) {
    uint64_t* const words = piece.words.data();
    for (const BlockArguments::Change& c : changes_) words[c.word] += c.by;
    for (const auto& [kernel, at] : launches_) kernel->launch_here(words + at);
    return;
  }
  const int level = blocks_.level;
  int64_t index[kMaxRank];
  const int64_t length = place(n, index);
  if (skipping_->any() && (first || index[level] == 0)) piece.skips = may_skip(piece, index, length);
  Seen sees;
  if (piece.skips && skipping_->masked()) sees = seen(piece.words.data(), piece.scratch, index, length);
  const bool timed = profile::on() && !run_.backend_.host();
  piece.time.begin();
  uint64_t* w = piece.words.data();
  for (size_t k = 0; k < group_.count; w += step(k).args.words(), ++k) {
    steps_[k].move(index, length, piece.scratch, w);
    if (piece.skips) {
      skipping_->shorten(number(k), index[level], length, sees, w);
      step(k).kernel->launch_here(w);
      skipping_->finish(number(k), w);
    } else {
      launch(k, piece.words.data(), w);
    }
    if (timed) run_.backend_.synchronize();
    piece.time.end_of(k);
  }
}

// Launches a step, whose arguments are `mine`, unless a later one reads through it.
void Run::BlockRun::launch(size_t k, uint64_t* words, uint64_t* mine) const {
  const Step& s = step(k);
  if (s.folded_into < end_) return;
  FoldedOperands folds;
  for (const Step::Folds& f : s.folds) {
    if (f.step < group_.first) continue;
    uint64_t* const w = words_of(f.step, words);
    const FoldedCopy copy{f.operand, run_.p_.steps[f.step].kernel.get(), w};
    if (auto operand = s.kernel->fold(mine, copy)) folds.push_back(std::move(operand));
    else copy.copy->launch_here(w);
  }
  if (folds.empty()) s.kernel->launch_here(mine);
  else s.kernel->launch_folded(mine, folds, true);
}

void Run::BlockRun::finish() {
  timer_->finish(run_.p_, group_, blocks_.count, words_.data());
  run_.launches_ += group_.count;
  metric::add(MetricCounter::tile_groups);
  run_.release_dead(group_);
}

void Run::block_by_block(Planned& plan) {
  BlockRun run(*this, *plan.tile_group, plan.blocks);
  run.prepare();
  run.all_blocks();
  run.finish();
}

}  // namespace lazy::jit
