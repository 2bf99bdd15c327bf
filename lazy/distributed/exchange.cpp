#include "lazy/distributed/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "jit/core/bytes.hpp"
#include "lazy/distributed/communicator.hpp"
#include "support/error.hpp"
#include "support/fp16.hpp"

namespace lazy::distributed::detail {
namespace {

using jit::CallRun;
using jit::Meta;

// Values of so many bytes go to all ranks whole, each of which combines them: one round in place of two.
constexpr int64_t kWhole = 16 << 10;

int64_t elements_of(std::span<const Meta> all) {
  int64_t n = 0;
  for (const Meta& m : all) n += numel(m.shape);
  return n;
}

/// Adds and multiplies; integers wrap.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}

/// Combines b into a. Sums of 16-bit floats are wider: they have a form of their own.
template <class T>
void combine(ReduceOp r, T* a, const T* b, int64_t n) {
  switch (r) {
    case ReduceOp::min:
      for (int64_t i = 0; i < n; ++i) a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];
      return;
    case ReduceOp::max:
      for (int64_t i = 0; i < n; ++i) a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];
      return;
    case ReduceOp::prod:
      for (int64_t i = 0; i < n; ++i) a[i] = product_of(a[i], b[i]);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) a[i] = sum_of(a[i], b[i]);
  }
}

template <class T>
void combine_all(ReduceOp r, std::span<const char* const> from, char* to, int64_t n) {
  std::memcpy(to, from[0], static_cast<size_t>(n) * sizeof(T));
  for (size_t k = 1; k < from.size(); ++k)
    combine(r, reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from[k]), n);
}

template <class T>
void combine_half(ReduceOp r, std::span<const char* const> from, char* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    float all = static_cast<float>(reinterpret_cast<const T*>(from[0])[i]);
    for (size_t k = 1; k < from.size(); ++k) {
      const float next = static_cast<float>(reinterpret_cast<const T*>(from[k])[i]);
      combine(r, &all, &next, 1);
    }
    reinterpret_cast<T*>(to)[i] = T(all);
  }
}

/// Combines the n elements of each rank, in the order of the ranks.
void combine_ranks(DType t, ReduceOp r, std::span<const char* const> from, char* to, int64_t n) {
  switch (t) {
    case DType::float32: return combine_all<float>(r, from, to, n);
    case DType::float64: return combine_all<double>(r, from, to, n);
    case DType::float16: return combine_half<float16_t>(r, from, to, n);
    case DType::bfloat16: return combine_half<bfloat16_t>(r, from, to, n);
    case DType::int8: return combine_all<int8_t>(r, from, to, n);
    case DType::uint8: return combine_all<uint8_t>(r, from, to, n);
    case DType::int16: return combine_all<int16_t>(r, from, to, n);
    case DType::uint16: return combine_all<uint16_t>(r, from, to, n);
    case DType::int32: return combine_all<int32_t>(r, from, to, n);
    case DType::uint32: return combine_all<uint32_t>(r, from, to, n);
    case DType::int64: return combine_all<int64_t>(r, from, to, n);
    default: return combine_all<uint64_t>(r, from, to, n);
  }
}

/// Holds one collective of this rank.
class Collective {
 public:
  Collective(const CallRun& r, Communicator& c)
      : run_(r), attributes_(r.spec.as<CollectiveAttributes>()), all_(c), me_(c.rank()), ranks_(c.size()) {
    if (attributes_.ranks != ranks_)
      throw CommunicationError("recorded in a world of " + std::to_string(attributes_.ranks) +
                               ", run in one of " + std::to_string(ranks_));
    const DType t = r.operands.empty() ? DType::uint8 : r.operands[0].dtype;
    own_.elements = static_cast<uint64_t>(elements_of(r.operands));
    own_.kind = attributes_.kind, own_.reduction = attributes_.reduction, own_.root = attributes_.root;
    own_.dtype = static_cast<int32_t>(t);
    const std::string line = lazy::to_string(r.site);
    std::memcpy(own_.line, line.data(), std::min(line.size(), sizeof own_.line - 1));
    type_ = t, width_ = static_cast<int64_t>(size_of(t)), count_ = elements_of(r.operands);
  }

  void run() {
    switch (attributes_.of()) {
      case Kind::all_reduce: return all_reduce();
      case Kind::all_gather: return gather();
      case Kind::reduce_scatter: return scatter();
      case Kind::broadcast: return broadcast();
      case Kind::all_to_all: return turn();
      case Kind::barrier: return exchange({}, {});
    }
  }

 private:
  // Each rank is asked by the same calls, in which what is sent and received may have no bytes: so all agree.
  void exchange(std::vector<Outgoing> out, std::vector<Incoming> in) {
    for (int r = 0; r < ranks_; ++r) {
      if (r == me_) continue;
      if (std::none_of(out.begin(), out.end(), [&](const Outgoing& o) { return o.to == r; }))
        out.push_back({r, nullptr, 0});
      if (std::none_of(in.begin(), in.end(), [&](const Incoming& i) { return i.from == r; }))
        in.push_back({r, nullptr, 0});
    }
    all_.exchange(own_, !begun_, out, in);
    begun_ = true;
  }
  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements * width_); }
  int64_t begin_of(int r) const { return count_ * r / ranks_; }
  int64_t length_of(int r) const { return begin_of(r + 1) - begin_of(r); }
  char* work(int64_t element) const { return run_.workspace + bytes(element); }

  /// Copies the operands to work memory, one behind the other.
  void pack() {
    char* to = run_.workspace;
    for (size_t i = 0; i < run_.operands.size(); ++i) {
      const size_t n = bytes_of(run_.operands[i].shape, type_);
      std::memcpy(to, run_.in[i], n);
      to += n;
    }
  }
  void unpack() {
    const char* from = run_.workspace;
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      const size_t n = bytes_of(run_.outputs[i].shape, type_);
      if (run_.out[i]) std::memcpy(run_.out[i], from, n);
      from += n;
    }
  }
  ReduceOp reduction() const { return static_cast<ReduceOp>(attributes_.reduction); }

  /// Gathers `length` elements of each rank, of which this rank's are at `own`, behind the packed operands,
  /// and combines them into `to`.
  void combine(const std::vector<Outgoing>& out, const char* own, int64_t length, char* to) {
    std::vector<Incoming> in;
    std::vector<const char*> parts(static_cast<size_t>(ranks_));
    for (int r = 0; r < ranks_; ++r) {
      char* const part = work(count_ + r * length);
      parts[static_cast<size_t>(r)] = part;
      if (r != me_) in.push_back({r, part, bytes(length)});
    }
    std::memcpy(work(count_ + me_ * length), own, bytes(length));  // `to` may be where it is
    exchange(out, in);
    combine_ranks(type_, reduction(), parts, to, length);
  }

  void all_reduce() {
    pack();
    std::vector<Outgoing> out;
    if (static_cast<int64_t>(bytes(count_)) <= kWhole) {
      for (int r = 0; r < ranks_; ++r)
        if (r != me_) out.push_back({r, work(0), bytes(count_)});
      // The sum is behind all parts: others may still read what was packed.
      char* const sum = work(count_ * (ranks_ + 1));
      combine(out, work(0), count_, sum);
      std::memcpy(work(0), sum, bytes(count_));
    } else {
      for (int r = 0; r < ranks_; ++r)
        if (r != me_) out.push_back({r, work(begin_of(r)), bytes(length_of(r))});
      char* const own = work(begin_of(me_));
      combine(out, own, length_of(me_), own);
      std::vector<Outgoing> mine;
      std::vector<Incoming> theirs;
      for (int r = 0; r < ranks_; ++r)
        if (r != me_) {
          mine.push_back({r, own, bytes(length_of(me_))});
          theirs.push_back({r, work(begin_of(r)), bytes(length_of(r))});
        }
      exchange(mine, theirs);
    }
    unpack();
  }
  void scatter() {
    std::vector<Outgoing> out;
    const char* const x = run_.in[0];
    for (int r = 0; r < ranks_; ++r)
      if (r != me_) out.push_back({r, x + bytes(begin_of(r)), bytes(length_of(r))});
    combine(out, x + bytes(begin_of(me_)), length_of(me_), work(0));
    if (run_.out[0]) std::memcpy(run_.out[0], work(0), bytes(length_of(me_)));
  }
  void gather() {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int r = 0; r < ranks_; ++r) {
      if (r == me_) continue;
      out.push_back({r, run_.in[0], bytes(count_)});
      in.push_back({r, work(count_ * r), bytes(count_)});
    }
    exchange(out, in);
    std::memcpy(work(count_ * me_), run_.in[0], bytes(count_));
    unpack();
  }
  void broadcast() {
    pack();
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int r = 0; me_ == attributes_.root && r < ranks_; ++r)
      if (r != me_) out.push_back({r, work(0), bytes(count_)});
    if (me_ != attributes_.root) in.push_back({attributes_.root, work(0), bytes(count_)});
    exchange(out, in);
    unpack();
  }
  void turn() {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    const int64_t part = count_ / ranks_;
    for (int r = 0; r < ranks_; ++r) {
      if (r == me_) continue;
      out.push_back({r, run_.in[0] + bytes(part * r), bytes(part)});
      in.push_back({r, work(part * r), bytes(part)});
    }
    exchange(out, in);
    std::memcpy(work(part * me_), run_.in[0] + bytes(part * me_), bytes(part));
    unpack();
  }

  const CallRun& run_;
  const CollectiveAttributes attributes_;
  Communicator& all_;
  const int me_, ranks_;
  Announcement own_;
  DType type_;
  int64_t width_, count_;  // bytes of an element; elements of all operands
  bool begun_ = false;
};

}  // namespace

size_t collective_workspace(const jit::CallSpec& spec, std::span<const Meta> operands) {
  const auto a = spec.as<CollectiveAttributes>();
  const int64_t n = elements_of(operands),
                width = operands.empty() ? 1 : static_cast<int64_t>(size_of(operands[0].dtype));
  const int64_t ranks = a.ranks;
  switch (a.of()) {
    case Kind::all_reduce:
      return static_cast<size_t>(width * (n * width <= kWhole ? n * (ranks + 2) : 2 * n + ranks));
    case Kind::reduce_scatter: return static_cast<size_t>(width * (2 * n + ranks));
    case Kind::all_gather: return static_cast<size_t>(width * n * ranks);
    default: return static_cast<size_t>(width * n);
  }
}

void run_collective(const CallRun& r) {
  Communicator* const c = communicator();
  if (!c)
    throw CommunicationError(std::string(r.spec.name()) +
                             ": the thread that needs the value belongs to no world");
  Collective(r, *c).run();
}

}  // namespace lazy::distributed::detail
