#include "jit/key/captured_graph.hpp"

#include <utility>

#include "jit/graph/observed.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/per_thread.hpp"

namespace lazy::jit {
namespace {

uint32_t ones_of(const Shape& s) {
  uint32_t bits = 0;
  for (int i = 0; i < s.size(); ++i) bits |= static_cast<uint32_t>(s[i] == 1) << i;
  return bits;
}
size_t slot_of(const Node* n, size_t mask) {
  return (reinterpret_cast<uintptr_t>(n) * 0x9E3779B97F4A7C15ull >> 32) & mask;
}

}  // namespace

// Word 0: op, dtype, rank, extents that are 1.  Word 1: output, arity, structural attributes (3 bits each; of
// an input, its marks). Operands.
void CapturedGraph::encode(Node* n, bool output, const uint32_t* operands) {
  const auto rank = static_cast<uint32_t>(n->shape.size());
  // An input is a value, whatever op made it. A source is its own recipe, whether it was also evaluated or
  // not.
  const bool recipe = operands || kind_of(n->op) == OpKind::constant || kind_of(n->op) == OpKind::iota;
  const Op op = recipe ? n->op : Op::input;
  const uint32_t arity = operands ? n->arity : 0;
  uint32_t axes = 0, axis_count = 0;
  if (recipe) {
    for (int64_t a : n->axes) axes = axes << 3 | static_cast<uint32_t>(a);
    axis_count = static_cast<uint32_t>(n->axes.size());
  }
  key.push_back(static_cast<uint32_t>(op) | static_cast<uint32_t>(n->dtype) << 8 | rank << 16 |
                ones_of(n->shape) << 24);
  if (op == Op::input) axes = n->marks.load(std::memory_order_relaxed);
  key.push_back(static_cast<uint32_t>(output) | arity << 1 | axis_count << 4 | axes << 8);
  for (uint32_t i = 0; i < arity; ++i) key.push_back(operands[i]);
  values.push_back(n);
  uses.push_back(0);
  key_flags_.push_back(output);
}

uint32_t CapturedGraph::number_of(Node* input) {
  if (inputs_ * 2 >= table_.size()) grow();
  const size_t mask = table_.size() - 1;
  for (size_t i = slot_of(input, mask);; i = (i + 1) & mask) {
    Slot& s = table_[i];
    if (s.round == round_ && s.node == input) return s.number;
    if (s.round != round_) {
      if (input->lost)
        throw Error("an input was overwritten by an earlier run of this computation, which failed",
                    input->site);
      watch::note_use(*input);
      s = {input, static_cast<uint32_t>(values.size()), round_};
      ++inputs_;
      encode(input, false, nullptr);
      pending.push_back(0);
      return s.number;
    }
  }
}

void CapturedGraph::grow() {
  std::vector<Slot> old(std::max<size_t>(64, table_.size() * 2), Slot{nullptr, 0, 0});
  old.swap(table_);
  const size_t mask = table_.size() - 1;
  for (const Slot& s : old) {
    if (s.round != round_) continue;
    size_t i = slot_of(s.node, mask);
    while (table_[i].round == round_) i = (i + 1) & mask;
    table_[i] = s;
  }
}

void CapturedGraph::build(std::span<Node* const> nodes, uint32_t code_class) {
  values.clear();
  uses.clear();
  pending.clear();
  key.clear();
  key_flags_.clear();
  repended.clear();
  word_of_.clear();
  inputs_ = 0;
  outputs = 0;
  uintptr_t marks = 0;
  const auto& settings = config::get();
  verify = settings.verify;
  key.push_back(static_cast<uint32_t>(settings.exact_casts) |
                static_cast<uint32_t>(settings.dynamic.get()) << 1 |
                static_cast<uint32_t>(settings.fp_contract) << 3);
  set_code_class(key, code_class);
  if (++round_ == 0) {  // wrapped: forget the stamps of 2^32 flushes ago
    table_.assign(table_.size(), Slot{nullptr, 0, 0});
    round_ = 1;
  }
  for (Node* n : nodes) {
    uint32_t operands[3];
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      operands[i] = (n->input_mask >> i & 1) ? number_of(o) : o->index;
      ++uses[operands[i]];
    }
    n->index = static_cast<uint32_t>(values.size());
    const bool output = n->handles() != 0;
    outputs += output;
    marks |= watch::word(*n);
    encode(n, output, operands);
    pending.push_back(1);
  }
  if (marks & watch::kRepended) drop_again();
}

// A node that was re-pended is needed now if it is asked for, or if an op reads it that was recorded since.
void CapturedGraph::drop_again() {
  const auto was_repended = [](const Node& n) { return (watch::word(n) & watch::kRepended) != 0; };
  for (uint32_t v = 0; v < values.size(); ++v) {
    const Node& n = *values[v];
    if (!pending[v] || was_repended(n)) continue;
    for (int i = 0; i < n.arity; ++i)
      if (!(n.input_mask >> i & 1) && was_repended(*n.operand[i])) watch::need(*n.operand[i]);
  }
  std::vector<uint32_t> dropped;
  for (uint32_t v = 0; v < values.size(); ++v)
    if (pending[v] && key_flags_[v] && was_repended(*values[v]) &&
        !(watch::word(*values[v]) & watch::kNeeded))
      dropped.push_back(v);
  if (!dropped.empty()) drop(dropped);
}

void CapturedGraph::restore(std::vector<uint32_t> of, std::vector<Node*> nodes) {
  key = std::move(of);
  values = std::move(nodes);
  uses.assign(values.size(), 0);
  find_words();
  for (uint32_t v = 0; v < values.size(); ++v) {
    const bool output = words_of(v)[1] & 1;
    const uint32_t arity = words_of(v)[1] >> 1 & 7;
    key_flags_.push_back(output);
    pending.push_back(output || arity > 0);  // an input or source that nobody asked for is only read
    outputs += output;
    for (uint32_t i = 0; i < arity; ++i) ++uses[words_of(v)[2 + i]];
  }
}

void CapturedGraph::find_words() {
  if (!word_of_.empty()) return;
  word_of_.reserve(values.size());
  for (uint32_t at = 1; at < key.size(); at += 2 + (key[at + 1] >> 1 & 7)) word_of_.push_back(at);
}

void CapturedGraph::drop(std::span<const uint32_t> dropped) {
  find_words();
  for (uint32_t v : dropped) {
    key[word_of_[v] + 1] &= ~1u;
    key_flags_[v] = 0;
    --outputs;
  }
  const bool again = !repended.empty();
  if (!again) stays_.assign(values.size(), 0);
  for (uint32_t v : dropped) stays_[v] |= 1;
  for (auto v = static_cast<uint32_t>(values.size()); v-- > 0;) {
    if (stays_[v] != 1) continue;
    stays_[v] = 3;  // counted
    const uint32_t* words = words_of(v);
    for (uint32_t i = 0; i < (words[1] >> 1 & 7); ++i) {
      const uint32_t o = words[2 + i];
      --uses[o];  // this reference outlives the flush
      if (pending[o] && !key_flags_[o]) stays_[o] |= 1;
    }
  }
  repended.clear();
  for (uint32_t v = 0; v < values.size(); ++v)
    if (stays_[v]) repended.push_back(values[v]);
}

namespace {

struct SpareCapturedGraphs {
  CapturedGraph* first = nullptr;
  ~SpareCapturedGraphs() { release(); }
  void release() noexcept {
    while (first) delete std::exchange(first, first->next_spare);
  }
};

}  // namespace

CapturedGraphLease::CapturedGraphLease() {
  SpareCapturedGraphs& spare = PerThread<SpareCapturedGraphs>::get();
  captured_ = spare.first ? std::exchange(spare.first, spare.first->next_spare) : new CapturedGraph;
}
void CapturedGraphLease::release_spare() noexcept {
  if (SpareCapturedGraphs* const spare = PerThread<SpareCapturedGraphs>::if_there()) spare->release();
}
CapturedGraphLease::~CapturedGraphLease() {
  SpareCapturedGraphs* const spare = PerThread<SpareCapturedGraphs>::if_there();
  if (!spare) {
    delete captured_;
    return;
  }
  captured_->next_spare = std::exchange(spare->first, captured_);
}

}  // namespace lazy::jit
