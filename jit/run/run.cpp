#include "jit/run/run.hpp"

// Binds a captured graph's nodes to a program's steps and launches them.
#include <algorithm>
#include <array>
#include <list>
#include <optional>

#include "jit/backend/kept_layouts.hpp"
#include "jit/core/bytes.hpp"
#include "jit/observe/profile.hpp"
#include "jit/plan/bind.hpp"
#include "jit/plan/names.hpp"
#include "jit/plan/program.hpp"
#include "jit/plan/tiling/skips.hpp"
#include "jit/plan/tiling/tile_group.hpp"
#include "jit/run/arguments.hpp"
#include "jit/run/reserve.hpp"
#include "support/arithmetic.hpp"
#include "support/config.hpp"
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

class Run {
 public:
  Run(const Program& p, CapturedGraph& f, Backend& backend, Arguments& arguments)
      : p_(p),
        f_(f),
        backend_(backend),
        buffers_(f.buffers),
        address_(f.addresses),
        arguments_(arguments),
        donate_(f.verify == config::Verify::off) {
    buffers_.resize(p.slots.size());
    address_.resize(p.slots.size());
  }
  Run(const Run&) = delete;
  ~Run() {
    buffers_.clear();
    f_.overwritten.clear();
    f_.workspaces.clear();
    f_.donors.clear();
  }

  void steps(bool same) {
    if (profile::on()) event::name_run(p_, f_);
    try {
      if (!p_.faults.empty()) arguments_.faults.clear(p_.faults.size(), backend_);
      arguments_.begin(f_, backend_.context(), same);
      if (p_.steps.size() > 1 && !profile::on())
        capture_ = backend_.begin_capture(p_.number, arguments_.launch_graph);
      sequence(0, p_.steps.size(), p_.tile_groups);
      if (capture_) capture_->finish();
      capture_.reset();
      look_for_faults();
    } catch (...) {
      capture_.reset();
      for (Node* input : f_.overwritten) input->lost = true;
      sort_stands();
      publish(f_.stands);
      throw;
    }
    if (!f_.stands.empty()) sort_stands();
    metric::add(Counter::launches, launches_);
  }

  // Gives the nodes their values. Nothing can fail any more.
  void publish() {
    if (p_.results.size() == 1 && p_.results[0].path == 0 && p_.results[0].input == kNone) {
      Node& n = *f_.values[p_.results[0].node];  // the most frequent case: the buffer changes hands
      n.contiguous = true;
      n.offset = 0;
      n.buffer = std::move(buffers_[static_cast<size_t>(p_.results[0].slot)]);
      return;
    }
    for (const Result& r : p_.results) publish(r);
  }

 private:
  /// Gives only these nodes their values, after a failure.
  void publish(const std::vector<Node*>& nodes) noexcept {
    auto next = nodes.begin();
    for (const Result& r : p_.results)
      if (next != nodes.end() && f_.values[r.node] == *next) publish(r), ++next;
  }
  void publish(const Result& r) {
    Node* n = f_.values[r.node];
    if (r.path == 0 && r.input == kNone) {
      n->contiguous = true;
      n->offset = 0;
      n->buffer = buffers_[static_cast<size_t>(r.slot)];
      return;
    }
    const Layout l = result_layout(p_, r, f_);
    n->contiguous = l.is_contiguous();
    n->offset = l.offset;
    n->strides = l.strides;
    n->buffer = r.input == kNone ? buffers_[static_cast<size_t>(r.slot)] : f_.values[r.input]->buffer;
  }

  void sequence(size_t first, size_t last, const std::vector<TileGroup>& tile_groups) {
    size_t i = first;
    for (const TileGroup& tile_group : tile_groups) {
      for (; i < tile_group.first; ++i) one(i);
      i += tile_group.count;
      if (tile_group.rows && row_by_row(tile_group)) continue;
      if (Planned& plan = planned(tile_group); plan.blocks.worth_it) block_by_block(plan);
      else sequence(tile_group.first, i, tile_group.parts);
    }
    for (; i < last; ++i) one(i);
  }

  void one(size_t i) {
    const Step& s = p_.steps[i];
    if (s.call.spec) return call(i);
    if (s.relayout && lay_out_anew(i)) return;
    if (s.folded_into != kNone) return unmade_.push_back(static_cast<uint32_t>(i));
    const FoldedOperands folds = s.folds.empty() ? FoldedOperands() : read_through(i);
    for (uint32_t slot : s.made)
      if (!buffers_[slot]) make(slot, i);
    if (s.initial == Initial::copy) initialise(s);
    launch(i, folds);
    for (uint32_t slot : s.dead) release(slot);
  }

  using FoldedOperands = std::vector<std::unique_ptr<FoldedOperand>>;
  /// Returns the operands that the step can read through copies; others are made now.
  FoldedOperands read_through(size_t i) {
    const Step& s = p_.steps[i];
    FoldedOperands folds;
    for (const Step::Folds& f : s.folds) {
      if (std::erase(unmade_, f.step) == 0) continue;
      if (auto operand = folded(i, f)) folds.push_back(std::move(operand));
      else make_copy(f.step);
    }
    return folds;
  }
  /// Returns how step i reads through the copy; null if it can't.
  std::unique_ptr<FoldedOperand> folded(size_t i, const Step::Folds& f) {
    if (!bind(i) || !bind(f.step)) return {};
    return p_.steps[i].kernel->fold(arguments_.words(i),
                                    {f.operand, p_.steps[f.step].kernel.get(), arguments_.words(f.step)});
  }
  void make_copy(uint32_t step) {
    for (uint32_t slot : p_.steps[step].made)
      if (!buffers_[slot]) make(slot, step);
    launch(step);
  }

  void call(size_t i) {
    const Step& s = p_.steps[i];
    const CallStep& c = s.call;
    const std::vector<Meta> operands = operand_metas(c, f_), outputs = output_metas(s, operands, f_);
    const auto work = static_cast<uint32_t>(c.workspace);
    const size_t work_bytes = workspace(work, [&] { return c.kernel->workspace(operands, outputs); });
    for (uint32_t slot : s.made) make(slot, i);
    std::vector<const char*> in;
    for (size_t k = 0; k < operands.size(); ++k) in.push_back(address_of(s.operands[k]));
    std::vector<char*> out(outputs.size(), nullptr);
    for (size_t k = 0; k < std::min(out.size(), c.outputs.size()); ++k)
      if (c.outputs[k] >= 0) out[k] = address_of(s.operands[static_cast<size_t>(c.outputs[k])]);
    const bool once = c.spec->definition().runs_once();
    if (once) f_.stands.reserve(p_.results.size());  // once it has run nothing may fail
    const nvtx::Range range([&] { return step_name(s, &f_); });
    const profile::Ticks start = profile::start_time();
    c.kernel->run({*c.spec, backend_, operands, outputs, in.data(), out.data(), address_[work], work_bytes,
                   site_of(s, f_)});
    if (once) note_it_stands(s);
    if (start) {
      if (!backend_.host()) backend_.synchronize();
      event::call(start, profile::now(), p_, s, f_);
    }
    metric::add(Counter::calls);
    for (uint32_t slot : s.dead) release(slot);
  }
  char* address_of(const Binding& b) const {
    return b.slot >= 0 ? address_[static_cast<size_t>(b.slot)] : f_.values[b.node]->data();
  }

  /// Notes the values of this step, which must not run again: if the run fails later, they stay.
  void note_it_stands(const Step& s) {
    for (const Binding& b : s.operands)
      if (b.output) f_.stands.push_back(f_.values[b.node]);
  }
  void sort_stands() noexcept {
    std::sort(f_.stands.begin(), f_.stands.end(), [](Node* a, Node* b) { return a->index < b->index; });
  }

  void launch(size_t i, const FoldedOperands& folds = {}) {
    const Step& s = p_.steps[i];
    if (!bind(i)) return;
    const nvtx::Range range([&] { return step_name(s, &f_); });
    const auto count = static_cast<size_t>(s.args.words());
    if (capture_) {
      capture_->launch(*s.kernel, arguments_.words(i), count, arguments_.changed(i));
      arguments_.note_captured(i);
    } else {
      const Words w(arguments_.words(i), count);
      if (profile::on()) launch_timed(s, w.data, folds);
      else launch_now(s, w.data, folds);
    }
    ++launches_;
    unseen_faults_ |= s.fallible;
  }

  /// Throws Fault if a kernel so far set a flag.
  void look_for_faults() {
    if (!unseen_faults_) return;
    if (capture_) capture_->finish();
    capture_.reset();
    arguments_.faults.look(p_.faults, f_.values, backend_);
    unseen_faults_ = false;
  }

  /// Takes a relayout's result from the cache beside the input, or puts it there if it was needed before.
  /// False if it is computed like any other value.
  bool lay_out_anew(size_t i) {
    const Step& s = p_.steps[i];
    const size_t in = s.operands[0].output, slot = s.made[0];
    Buffer& from = *f_.values[s.operands[in].node]->buffer.get();
    const size_t bytes = bytes_of(slot);
    // A copy larger than the input, as the windows of an image are, is not worth its memory.
    if (!donate_ || !backend_.host() || from.borrowed() || bytes < KeptLayouts::kLeastBytes ||
        bytes > from.bytes() || config::get().keep_layouts == 0 || !bind(i))
      return false;
    std::vector<uint64_t> words(arguments_.words(i), arguments_.words(i) + s.args.words());
    words[static_cast<size_t>(s.args.pointer(static_cast<int>(in)))] -=
        reinterpret_cast<uint64_t>(from.data());
    words[static_cast<size_t>(s.args.pointer(static_cast<int>(!in)))] = 0;
    bool again = false;
    BufferRef copy = from.layouts().find(s.kernel, words, again);
    if (!again) return false;
    const bool found = static_cast<bool>(copy);
    if (!found && !memory_to_keep(copy, bytes)) return false;
    buffers_[slot] = std::move(copy);
    address_[slot] = static_cast<char*>(buffers_[slot]->data());
    if (found) metric::add(Counter::layouts_reused);
    else launch(i), from.layouts().keep(s.kernel, words, buffers_[slot]);
    for (uint32_t dead : s.dead) release(dead);
    return true;
  }

  /// Allocates memory for a cached copy; false if there is none: that is no reason to fail.
  bool memory_to_keep(BufferRef& copy, size_t bytes) {
    try {
      copy = BufferRef::allocate(backend_, bytes);
      return true;
    } catch (...) { return false; }
  }

  static void launch_now(const Step& s, uint64_t* words, const FoldedOperands& folds) {
    if (folds.empty()) s.kernel->launch(words);
    else s.kernel->launch_folded(words, folds, false);
  }
  void launch_timed(const Step& s, uint64_t* words, const FoldedOperands& folds) {
    profile::Activity& now = profile::activity;
    const char* const outer = std::exchange(now.name, event::name_of(p_, s));
    const uint32_t outer_parts = std::exchange(now.parts, 0);
    const profile::Ticks start = profile::now();
    launch_now(s, words, folds);
    if (!backend_.host()) backend_.synchronize();  // so that the time measured is the launch's alone
    event::launch(start, profile::now(), p_, s, words, now.parts);
    now.name = outer;
    now.parts = outer_parts;
  }

  /// Holds the blocks chosen for a tile group. The number of threads may change at any time, so it is read
  /// once.
  struct Planned {
    const TileGroup* tile_group = nullptr;
    Blocks blocks;
  };
  Planned& planned(const TileGroup& tile_group) {
    for (Planned& p : planned_)
      if (p.tile_group == &tile_group) return p;
    planned_.push_back({&tile_group, choose_blocks(p_, tile_group, f_, backend_.workers())});
    return planned_.back();
  }
  /// Allocates memory for one block a thread, which the tile groups of a run use in turn.
  void allocate_scratch(const Blocks& blocks) {
    const size_t bytes = blocks.piece_bytes * static_cast<size_t>(blocks.pieces);
    if (scratch_ && scratch_->bytes() >= bytes) return;
    scratch_.reset();
    scratch_ = BufferRef::allocate(backend_, bytes);
  }

  /// Runs the tile group by one kernel. False if that is impossible: then nothing has changed.
  bool row_by_row(const TileGroup& tile_group) {
    const size_t end = tile_group.first + tile_group.count;
    // Inner values have addresses that count from 0. Results that aren't made yet have no valid address, but
    // takes() reads those of operands only.
    std::vector<char*> outer(tile_group.inner.size());
    for (size_t k = 0; k < outer.size(); ++k)
      outer[k] = std::exchange(address_[tile_group.inner[k]], nullptr);
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
    metric::add(Counter::tile_groups);
    if (start) {
      if (!backend_.host()) backend_.synchronize();
      event::tile_group(start, profile::now(), p_, tile_group, 1, std::vector<uint64_t>(tile_group.count, 1),
                        words);
    }
    for (size_t i = tile_group.first; i < end; ++i)
      for (uint32_t slot : p_.steps[i].dead) release(slot);
    return true;
  }

  void block_by_block(Planned& plan) {
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
    metric::add(Counter::tile_groups);
    for (size_t i = tile_group.first; i < end; ++i)
      for (uint32_t slot : p_.steps[i].dead) release(slot);
  }

  /// Launches step `i` of a tile group, whose arguments are `mine`, unless a later one reads through it.
  void launch_block(const TileGroup& tile_group, size_t i, uint64_t* words, uint64_t* mine) const {
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

  void make(uint32_t slot, size_t step) {
    const Step& s = p_.steps[step];
    const Slot& what = p_.slots[slot];
    const size_t bytes = bytes_of(slot);
    if (what.donor_slot >= 0) {
      buffers_[slot] = std::move(buffers_[static_cast<size_t>(what.donor_slot)]);
      address_[slot] = address_[static_cast<size_t>(what.donor_slot)];
      return donated(bytes, s.initial == Initial::copy);
    } else if (takes_input(slot)) {
      look_for_faults();
      reserve_after(step, slot);
      Node* const donor = f_.values[f_.donors[slot]];
      buffers_[slot] = donor->buffer;  // the dying input goes on reading it as well
      buffers_[slot]->forget_layouts();
      f_.overwritten.push_back(donor);
      donated(bytes, s.initial == Initial::copy);
    } else {
      return allocate(slot);
    }
    address_[slot] = static_cast<char*>(buffers_[slot]->data());
  }
  // Allocates what later steps need: once an input has been overwritten, a failure loses it. `slot`, of
  // `step`, takes over an input's memory.
  void reserve_after(size_t step, uint32_t slot) {
    if (std::exchange(reserved_, true) || step + 1 == p_.steps.size()) return;
    std::vector<Reserve::Span> together(p_.steps.size());
    for (uint32_t i = 0; i < together.size(); ++i) together[i] = {i, i};
    std::vector<uint8_t> scratch(p_.slots.size(), 0);
    reserve_scratch(step, p_.tile_groups, together, scratch);
    std::vector<size_t> bytes(p_.slots.size(), Reserve::kNothing), has(p_.slots.size(), 0);
    for (size_t i = together[step].first; i < p_.steps.size(); ++i)
      for (const uint32_t s : p_.steps[i].made) {
        if (scratch[s] || arguments_.arena.has(s) || takes_input(s)) continue;
        bytes[s] = bytes_of(s);
      }
    for (size_t i = together[step].first; i < p_.steps.size(); ++i)
      for (const Step::Folds& f : p_.steps[i].folds)
        if (f.step > step && folded(i, f))
          for (const uint32_t s : p_.steps[f.step].made) bytes[s] = Reserve::kNothing;
    for (size_t s = 0; s < buffers_.size(); ++s)
      if (buffers_[s]) {
        bytes[s] = Reserve::kHas;
        has[s] = buffers_[s].get() == arena_.get() ? 0 : buffers_[s]->bytes();
      }
    bytes[slot] = Reserve::kHas;
    has[slot] = bytes_of(slot);
    Reserve plan;
    plan.plan(p_, step, together, bytes, has);
    if (arguments_.arena.bytes() && !arena_) arena_ = BufferRef::allocate(backend_, arguments_.arena.bytes());
    for (const Reserve::Fresh& f : plan.fresh()) {
      buffers_[f.slot] = BufferRef::allocate(backend_, f.bytes);
      address_[f.slot] = static_cast<char*>(buffers_[f.slot]->data());
      if (p_.slots[f.slot].workspace_of == kNone) arguments_.arena.note(f.slot, f.bytes);
    }
    reserve_ = std::move(plan);
  }
  void reserve_scratch(size_t step, const std::vector<TileGroup>& tile_groups,
                       std::vector<Reserve::Span>& together, std::vector<uint8_t>& scratch) {
    const auto whole = [&](const TileGroup& tile_group) {
      for (uint32_t i = tile_group.first; i < tile_group.first + tile_group.count; ++i)
        together[i] = {tile_group.first, tile_group.first + tile_group.count - 1};
    };
    for (const TileGroup& tile_group : tile_groups) {
      if (tile_group.first + tile_group.count <= step) continue;
      if (tile_group.rows) {  // it is known when it runs if its inner values need memory
        whole(tile_group);
      } else if (Planned& plan = planned(tile_group); plan.blocks.worth_it) {
        whole(tile_group);
        allocate_scratch(plan.blocks);
        for (uint32_t slot : tile_group.inner) scratch[slot] = 1;
      } else {
        reserve_scratch(step, tile_group.parts, together, scratch);
      }
    }
  }
  bool takes_input(uint32_t slot) {
    if (!donate_ || p_.slots[slot].donor_input == kNone) return false;
    if (!std::exchange(donors_sought_, true) && any_donor()) find_donors();
    return !f_.donors.empty() && f_.donors[slot] != kNone;
  }
  /// True if any slot may take over an input: mostly all inputs have handles.
  bool any_donor() const {
    for (const Slot& s : p_.slots) {
      if (s.donor_input == kNone) continue;
      if (f_.is_sole_owner(s.donor_input)) return true;
      for (const uint32_t input : s.other_inputs)
        if (f_.is_sole_owner(input)) return true;
    }
    return false;
  }
  /// Decides for all slots at once which inputs they take over, while nothing has been overwritten.
  void find_donors() {
    f_.donors.assign(p_.slots.size(), kNone);
    f_.gives.assign(f_.values.size(), 0);
    for (const Step& s : p_.steps)
      for (const uint32_t slot : s.made) {
        const Slot& what = p_.slots[slot];
        if (what.donor_input == kNone) continue;
        const auto is_free = [&](uint32_t input) {
          return !f_.gives[input] && f_.is_sole_owner(input) && takes_all(input, bytes_of(slot));
        };
        uint32_t donor = is_free(what.donor_input) ? what.donor_input : kNone;
        for (size_t i = 0; donor == kNone && i < what.other_inputs.size(); ++i)
          if (is_free(what.other_inputs[i])) donor = what.other_inputs[i];
        if (donor == kNone) continue;
        f_.donors[slot] = donor;
        f_.gives[donor] = 1;
      }
  }
  /// Frees the memory of a slot after the last step that reads it.
  void release(uint32_t slot) {
    if (!reserve_.is_handed_on(slot)) buffers_[slot].reset();
  }
  /// Returns a slot's bytes; those of work memory as first computed in this run, for the number of threads
  /// may change.
  size_t bytes_of(uint32_t slot) {
    const Slot& s = p_.slots[slot];
    if (s.workspace_of == kNone) [[likely]]
      return lazy::bytes_of(f_.values[s.node]->shape, s.dtype);
    return workspace(slot, [&] { return slot_bytes(p_, slot, f_); });
  }
  /// Returns the bytes of a call's work memory. `ask` computes them, the first time.
  template <class Ask>
  size_t workspace(uint32_t slot, Ask&& ask) {
    f_.workspaces.resize(p_.slots.size(), kUnasked);
    size_t& bytes = f_.workspaces[slot];
    return bytes == kUnasked ? bytes = ask() : bytes;
  }
  static constexpr size_t kUnasked = SIZE_MAX;
  void allocate(uint32_t slot) {
    Arena& arena = arguments_.arena;
    if (arena.has(slot)) {
      if (!arena_) arena_ = BufferRef::allocate(backend_, arena.bytes());
      buffers_[slot] = arena_;
      address_[slot] = static_cast<char*>(arena_->data()) + arena.offset(slot);
      return;
    }
    const size_t bytes = bytes_of(slot);
    if (const uint32_t dead = reserve_.ancestor(slot);
        dead != kNone && buffers_[dead] && buffers_[dead]->bytes() >= bytes)
      buffers_[slot] = std::move(buffers_[dead]);
    else buffers_[slot] = BufferRef::allocate(backend_, bytes);
    address_[slot] = static_cast<char*>(buffers_[slot]->data());
    if (p_.slots[slot].workspace_of == kNone) arena.note(slot, bytes);
  }
  bool takes_all(uint32_t input, size_t bytes) const {
    const Node& n = *f_.values[input];
    return n.contiguous && n.offset == 0 && n.buffer->bytes() == bytes;
  }
  void donated(size_t bytes, bool initial) {
    metric::add(Counter::bytes_donated, bytes);
    in_place_ = initial;
  }

  void initialise(const Step& s) {
    const uint32_t slot = s.made[0];
    if (std::exchange(in_place_, false)) return;
    const Binding& from = s.initial_from;
    const char* data =
        from.slot >= 0 ? address_[static_cast<size_t>(from.slot)] : f_.values[from.node]->data();
    backend_.copy(address_[slot], data, bytes_of(slot));
  }

  /// Copies the words of a launch, which may change them.
  struct Words {
    Words(const uint64_t* from, size_t n) {
      if (n > few.size()) many.resize(n), data = many.data();
      std::copy_n(from, n, data);
    }
    std::array<uint64_t, 256> few;
    std::vector<uint64_t> many;
    uint64_t* data = few.data();
  };
  bool bind(size_t i) { return arguments_.bind(i, address_.data()); }

  const Program& p_;
  CapturedGraph& f_;
  Backend& backend_;
  std::vector<BufferRef>& buffers_;
  std::vector<char*>& address_;  // by slot; that of a donor stays the same
  BufferRef arena_;              // some slots are parts of it
  BufferRef scratch_;
  Arguments& arguments_;
  std::unique_ptr<LaunchCapture> capture_;
  std::list<Planned> planned_;  // a list, so that references to its elements stay valid
  uint64_t launches_ = 0;
  const bool donate_;  // false if the verifier reads the inputs again
  bool in_place_ = false;
  bool unseen_faults_ = false;    // fallible kernels ran whose flags have not been read
  std::vector<uint32_t> unmade_;  // copies that the next step may read through
  bool donors_sought_ = false;
  bool reserved_ = false;
  Reserve reserve_;  // set once an input was overwritten
};

}  // namespace

uint64_t Program::next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void run(const Program& p, CapturedGraph& f, Backend& backend, std::unique_ptr<Arguments>& arguments,
         bool same) {
  if (!arguments) arguments = p.arguments.take(p);
  try {
    Run r(p, f, backend, *arguments);
    r.steps(same);
    r.publish();
  } catch (...) {
    arguments.reset();  // its words may belong half to one run, half to another
    throw;
  }
}

void run(const Program& p, CapturedGraph& f, Backend& backend) {
  std::unique_ptr<Arguments> arguments;
  run(p, f, backend, arguments, false);
  p.arguments.put(std::move(arguments));
}

}  // namespace lazy::jit
