#include "lazy/training/prepared_loader.hpp"

#include <array>

#include "jit/graph/record.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/indexing/selecting.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::training::detail {
namespace {

/// Says what rank 0 sends: all numbers of a message of one size.
struct Header {
  // Places in the numbers.
  enum : size_t {
    kMore,
    kLast,
    kExamples,
    kState,
    kTensors = kState + 9,
    kTensor = 2 + kMaxRank,
    kSize = kTensors + 2 * kTensor
  };
  std::array<int64_t, kSize> v{};

  void set_state(const data::LoaderState& s) {
    const data::Ticket next = s.next.value_or(data::Ticket{});
    const uint64_t all[] = {s.epoch,       s.batch,           s.begun,
                            s.ticket.seed, s.ticket.position, s.next.has_value(),
                            next.seed,     next.position,     s.examples};
    for (size_t i = 0; i < 9; ++i) v[kState + i] = static_cast<int64_t>(all[i]);
  }
  data::LoaderState state() const {
    const auto at = [&](size_t i) { return static_cast<uint64_t>(v[kState + i]); };
    data::LoaderState s{at(0), at(1), at(2) != 0, {at(3), at(4)}};
    if (at(5)) s.next = data::Ticket{at(6), at(7)};
    s.examples = at(8);
    return s;
  }
  void set_tensor(size_t i, const Tensor& x, const Site& s) {
    int64_t* const to = v.data() + kTensors + i * kTensor;
    to[0] = -1;
    if (!x.defined()) return;
    const Shape shape = x.shape(s);
    to[0] = static_cast<int64_t>(x.dtype(s)), to[1] = shape.size();
    for (int k = 0; k < shape.size(); ++k) to[2 + k] = shape[k];
  }
  /// Returns this rank's part of what rank 0 sends; nothing where there is none.
  Tensor received(size_t i, const Site& s) const {
    const int64_t* const from = v.data() + kTensors + i * kTensor;
    if (from[0] < 0) return {};
    Shape shape{std::span<const int64_t>(from + 2, static_cast<size_t>(from[1]))};
    const int64_t ranks = distributed::world_size();
    shape[0] = (shape[0] + ranks - 1) / ranks;
    return distributed::recv(shape, static_cast<DType>(from[0]), 0, {}, s);
  }
};

/// Returns rows r, r + ranks, ... of a value, as many for each rank: rows are taken again from the first on.
Tensor part_of(const Tensor& x, int rank, const Site& s) {
  const int64_t ranks = distributed::world_size(), n = x.shape(s)[0];
  std::vector<int64_t> rows;
  for (int64_t i = rank; i < (n + ranks - 1) / ranks * ranks; i += ranks) rows.push_back(i % n);
  return index_select(Arg(x, s), 0, Arg(from_span(rows), s));
}

}  // namespace

Sent send_parts(const data::Batch* own, const Loop& loop, const data::LoaderState& state, const Site& s) {
  const no_grad scope;
  Header h;
  if (own) {
    h.v[Header::kMore] = 1, h.v[Header::kLast] = loop.last, h.v[Header::kExamples] = loop.examples;
    h.set_tensor(0, own->x, s), h.set_tensor(1, own->y, s);
  }
  h.set_state(state);
  const std::vector<int64_t> sent =
      distributed::broadcast(from_span(std::vector<int64_t>(h.v.begin(), h.v.end())), 0, {}, s)
          .to_vector<int64_t>(s);
  std::copy(sent.begin(), sent.end(), h.v.begin());
  Sent result;
  result.state = h.state();
  if (!h.v[Header::kMore]) return result;
  result.loop = {h.v[Header::kLast] != 0, h.v[Header::kExamples]};
  data::Batch part;
  for (size_t i = 0; i < 2; ++i) {
    Tensor& own_part = i ? part.y : part.x;
    if (!own) {
      own_part = h.received(i, s);
    } else if (const Tensor& x = i ? own->y : own->x; x.defined()) {
      own_part = part_of(x, 0, s);
      for (int r = 1; r < distributed::world_size(); ++r) distributed::send(part_of(x, r, s), r, {}, s);
    }
  }
  // This runs at once, not when somebody reads a value: the others compute with theirs now.
  lazy::detail::eval(part.y.defined() ? std::vector<Tensor>{part.x, part.y} : std::vector<Tensor>{part.x}, s);
  if (own) jit::run_effects(s);
  result.part = std::move(part);
  return result;
}

}  // namespace lazy::training::detail
