#include "jit/key/captured_graph.hpp"

#include <utility>

#include "jit/calls/call.hpp"
#include "jit/graph/observed.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/per_thread.hpp"

namespace lazy::jit {
namespace {

/// True if the op takes parts of operand i, or lets code that isn't generated read it.
bool reads_memory(const Node& n, int i) {
  if (n.op == Op::call) return true;
  return i == 0 && (n.op == Op::gather || n.op == Op::scatter || n.op == Op::slice_update);
}

const char* why_lost(const Node& n) {
  if (n.op == Op::part)
    return "an output of a call that runs once was not kept by the flush that ran it, which failed";
  if (n.buffer) return "an input was overwritten by an earlier run of this computation, which failed";
  return "an input has no value: it stands for each sample of a batch (vmap), or is computed whenever it is "
         "read "
         "and was not read";
}

size_t slot_of(const Node* n, size_t mask) {
  return (reinterpret_cast<uintptr_t>(n) * 0x9E3779B97F4A7C15ull >> 32) & mask;
}

}  // namespace

// Writes values and their words of the key through pointers to memory that is large enough: begin() has made
// the lists as long as they may become, finish() cuts them.
class CapturedGraph::Builder {
 public:
  explicit Builder(CapturedGraph& f)
      : f_(f),
        table_(f.table_.data()),
        mask_(f.table_.size() - 1),
        round_(f.round_),
        values_(f.values.data()),
        uses_(f.uses.data()),
        pending_(f.pending.data()),
        flags_(f.key_flags_.data()),
        key_(f.words_.data() + 1) {}

  /// Returns the number of an input or source, of that operand of `user`; a new one for one that was not seen
  /// before.
  [[gnu::always_inline]] uint32_t number_of(Node* input, const Node& user, int operand) {
    for (size_t i = slot_of(input, mask_);; i = (i + 1) & mask_) {
      Slot& s = table_[i];
      if (s.round != round_) {
        s = {input, count_, round_};
        if (++f_.inputs_ * 2 >= f_.table_.size()) grow();
        return add_input(input, user, operand);
      }
      if (s.node == input) return s.number;
    }
  }
  void use(uint32_t value) { ++uses_[value]; }
  /// Adds a node that the flush computes. Returns its number.
  [[gnu::always_inline]] uint32_t add(Node* n, bool output, const uint32_t* operands) {
    const uint32_t* const at = key_;
    if (n->op == Op::call) [[unlikely]] {
      const std::string& identity = n->call->identity();
      char* const attributes =
          words(*n, n->op, output, operands, static_cast<uint32_t>(n->arity), identity.size());
      std::memcpy(attributes, identity.data(), identity.size());
    } else {
      encode(*n, output, operands, static_cast<uint32_t>(n->arity));
    }
    f_.outputs += output;
    hash(at);
    return append(n, true, output);
  }
  void finish() {
    f_.values.resize(count_);
    f_.uses.resize(count_);
    f_.pending.resize(count_);
    f_.key_flags_.resize(count_);
    f_.place = (hash_ ^ f_.words_[0]) * 0x9E3779B97F4A7C15ull;
    f_.place ^= f_.place >> 32;
    f_.key.assign(f_.words_.data(), key_);
  }
  bool inputs_are_ready() const { return !unready_; }

 private:
  // An input is a value, whatever op made it. A source is its own recipe, even if it was also evaluated; but
  // where it has memory and its first user needs it there, it would be made anew each time.
  uint32_t add_input(Node* n, const Node& user, int operand) {
    if (n->lost) throw Error(why_lost(*n), n->site);
    watch::note_use(*n);
    if (is_source(n->op) &&
        !(reads_memory(user, operand) && n->ready() && n->buffer && n->device == user.device)) {
      encode(*n, false, nullptr, 0);
    } else {
      const uint16_t marks = n->marks.load(std::memory_order_relaxed);
      char* const attributes = words(*n, Op::input, false, nullptr, 0, marks ? sizeof marks : 0);
      if (marks) std::memcpy(attributes, &marks, sizeof marks);
      unready_ |= !n->ready();
    }
    return append(n, false, false);
  }
  [[gnu::always_inline]] void encode(const Node& n, bool output, const uint32_t* operands, uint32_t arity) {
    const int axes = n.axes.size();
    char* const attributes = words(n, n.op, output, operands, arity, static_cast<size_t>(axes), n.accuracy);
    for (int i = 0; i < axes; ++i) attributes[i] = static_cast<char>(n.axes[i]);
  }
  /// Writes a value's words. Returns the place of its attributes, null if it has none.
  [[gnu::always_inline]] char* words(const Node& n, Op op, bool output, const uint32_t* operands,
                                     uint32_t arity, size_t attribute_bytes,
                                     Accuracy accuracy = Accuracy::full) {
    char* attributes = nullptr;
    key_ = KeyWriter::value(key_, op, n.dtype, n.shape, output, operands, arity, attribute_bytes, attributes,
                            accuracy);
    return attributes;
  }
  /// Mixes in a value's words. Inputs are left out: their dtypes and ranks mostly follow.
  [[gnu::always_inline]] void hash(const uint32_t* from) {
    uint64_t two = 0;
    for (; key_ - from >= 2; from += 2) {
      std::memcpy(&two, from, sizeof two);
      hash_ = (hash_ ^ two) * 0x9E3779B97F4A7C15ull;
      hash_ ^= hash_ >> 29;
    }
    if (from != key_) hash_ = (hash_ + *from) * 0xD6E8FEB86659FD93ull;
  }
  uint32_t append(Node* n, bool pending, bool output) {
    values_[count_] = n;
    uses_[count_] = 0;
    pending_[count_] = pending;
    flags_[count_] = output;
    return count_++;
  }

  void grow() {
    f_.grow();
    table_ = f_.table_.data();
    mask_ = f_.table_.size() - 1;
  }

  CapturedGraph& f_;
  Slot* table_;
  size_t mask_;
  const uint32_t round_;
  Node** const values_;
  uint32_t* const uses_;
  uint8_t *const pending_, *const flags_;
  uint32_t* key_;  // where the next value's words go
  uint64_t hash_ = 0;
  uint32_t count_ = 0;
  bool unready_ = false;
};

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

namespace {

// True for what must not run twice: its values are stored, for the flush may fail later. verified: by
// LAZY_VERIFY, which needs them, too.
bool keeps_itself(const Node& n, bool verified) {
  if (n.op < Op::call) [[likely]]
    return false;
  if (n.lost) throw Error(why_lost(n), n.site);
  static_assert(Op::part > Op::call && static_cast<int>(Op::part) + 1 == kOpCount);
  if (n.op == Op::call) return is_run_once(n);
  return is_run_once(*n.operand[0]) && (verified || !may_pass(*n.operand[0]));
}

}  // namespace

// Makes the lists long enough for the values of the nodes: these, and as inputs at most all their operands.
bool CapturedGraph::begin(std::span<Node* const> nodes, uint32_t code_class) {
  repended.clear();
  word_of_.clear();
  outputs = 0;
  const auto& settings = config::get();
  verify = settings.verify;
  size_t edges = 0, identities = 0;
  bool intentions = false;
  for (const Node* n : nodes) {
    edges += static_cast<size_t>(n->arity);
    if (n->op == Op::call) [[unlikely]] {
      identities += KeyWriter::words_of(n->call->identity().size());
      intentions |= n->call->definition().expand != nullptr;
    }
  }
  const size_t most = nodes.size() + edges;
  values.resize(most);
  uses.resize(most);
  pending.resize(most);
  key_flags_.resize(most);
  words_.resize(1 + most * (2 + KeyWriter::words_of(kMaxRank)) + edges + identities);
  words_[0] =
      KeySettings{settings.exact_casts, settings.dynamic.get(), settings.fp_contract, code_class}.word();
  if (++round_ == 0) {  // wrapped: forget the stamps of 2^32 flushes ago
    table_.assign(table_.size(), Slot{nullptr, 0, 0});
    round_ = 1;
  }
  inputs_ = 0;
  if (table_.empty()) grow();
  return !intentions;
}

bool CapturedGraph::build(std::span<Node* const> nodes, uint32_t code_class, bool expanded) {
  if (!begin(nodes, code_class) && !expanded) [[unlikely]]
    return false;
  Builder to(*this);
  const bool verified = verify != config::Verify::off;
  uintptr_t marks = 0;
  for (Node* n : nodes) {
    uint32_t few[Operands::kInline], *operands = few;
    if (n->arity > Operands::kInline) [[unlikely]]
      operands_.resize(static_cast<size_t>(n->arity)), operands = operands_.data();
    for (int i = 0; i < n->arity; ++i) {
      Node* o = n->operand[i];
      operands[i] = n->operand.is_input(i) ? to.number_of(o, *n, i) : o->index;
      to.use(operands[i]);
    }
    marks |= watch::word(*n);
    n->index = to.add(n, n->handles() != 0 || keeps_itself(*n, verified), operands);
  }
  to.finish();
  if (!to.inputs_are_ready()) [[unlikely]]
    return false;
  if (marks & watch::kRepended) drop_again();
  return true;
}

// Finds the re-pended nodes that are not needed and drops them again. One is needed if a read requires it, or
// an op that was recorded since uses it.
void CapturedGraph::drop_again() {
  const auto was_repended = [](const Node& n) { return (watch::word(n) & watch::kRepended) != 0; };
  for (uint32_t v = 0; v < values.size(); ++v) {
    const Node& n = *values[v];
    if (!pending[v] || was_repended(n)) continue;
    for (int i = 0; i < n.arity; ++i)
      if (!n.operand.is_input(i) && was_repended(*n.operand[i])) watch::need(*n.operand[i]);
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
  values.assign(nodes.begin(), nodes.end());
  uses.assign(values.size(), 0);
  find_words();
  for (uint32_t v = 0; v < values.size(); ++v) {
    const KeyValue x = key_value(v);
    key_flags_.push_back(x.output);
    // An input or source that is no output is only read; a call may have no operands.
    pending.push_back(x.output || !x.operands.empty() || x.op == Op::call);
    outputs += x.output;
    for (const uint32_t o : x.operands) ++uses[o];
  }
}

void CapturedGraph::find_words() {
  if (!word_of_.empty()) return;
  word_of_.reserve(values.size());
  for (size_t at = 1; at < key.size(); at += words_of_value(key[at + 1]))
    word_of_.push_back(static_cast<uint32_t>(at));
}

void CapturedGraph::drop(std::span<const uint32_t> dropped) {
  find_words();
  for (uint32_t v : dropped) {
    KeyWriter::drop_output(key, word_of_[v]);
    key_flags_[v] = 0;
    --outputs;
    place = (place ^ v) * 0x9E3779B97F4A7C15ull;
    place ^= place >> 32;
  }
  const bool again = !repended.empty();
  if (!again) stays_.assign(values.size(), 0);
  for (uint32_t v : dropped) stays_[v] |= 1;
  for (auto v = static_cast<uint32_t>(values.size()); v-- > 0;) {
    if (stays_[v] != 1) continue;
    stays_[v] = 3;  // counted
    for (const uint32_t o : key_value(v).operands) {
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
