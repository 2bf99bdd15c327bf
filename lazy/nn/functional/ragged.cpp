#include "lazy/nn/functional/ragged.hpp"

#include "lazy/core/build.hpp"
#include "lazy/indexing/gathering.hpp"
#include "lazy/indexing/indexing.hpp"
#include "lazy/ops/joining.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy {
namespace {

using namespace detail;
constexpr const char* kRagged = "ragged";

/// Returns 0, lengths[0], lengths[0] + lengths[1], ... on the device of `like`.
Tensor offsets_of(std::span<const int64_t> lengths, const Handle& like, const Site& s) {
  std::vector<int64_t> all{0};
  for (const int64_t n : lengths) all.push_back(all.back() + n);
  return Tensor(detail::values(all.data(), int64, {static_cast<int64_t>(all.size())}, like, s));
}

/// Returns an axis of rows behind one of sequences: (..) with its first two axes as one.
Shape flat_shape(const Shape& shape) {
  Shape flat{shape[0] * shape[1]};
  for (int i = 2; i < shape.size(); ++i) flat.push_back(shape[i]);
  return flat;
}

}  // namespace

Tensor Ragged::lengths(Site s) const {
  const Recorder r{"lengths", s};
  const Handle& all = offsets.handle();
  const int64_t n = count(s);
  return Tensor(r.op(Op::subtract, r.part(all, 0, 1, n), r.part(all, 0, 0, n)));
}

Ragged Ragged::with(Arg rows) const {
  const Shape shape = shape_of("Ragged::with", rows), own = values.shape(rows.site());
  if (shape.empty() || shape[0] != own[0])
    fail<ShapeError>("Ragged::with",
                     to_string(shape) + " has not the " + std::to_string(own[0]) + " rows of the sequences",
                     rows.site());
  return {Tensor(Operand("Ragged::with", rows).take()), offsets};
}

Tensor Ragged::to_padded(IntegerArg length, ScalarNumber fill, Site s) const {
  const Recorder r{"to_padded", s};
  const Handle x = Operand(r.name, Arg(values, s)).take(), &all = offsets.handle();
  const int64_t n = count(s), width = length;
  if (width < 0) fail<ShapeError>(r.name, "a length of " + std::to_string(width), s);
  Shape shape = x->shape, mask{n, width};
  shape[0] = width;
  Shape whole{n};
  for (const int64_t extent : shape) whole.push_back(extent);
  for (int i = 1; i < x->shape.size(); ++i) mask.push_back(1);
  const Handle rest = r.filled(fill, x->dtype, {}, x);
  if (x->shape[0] == 0 || n == 0 || width == 0) return Tensor(r.broadcast(rest, whole));
  const auto column = [&](int64_t from) { return r.reshape(r.part(all, 0, from, n), {n, 1}); };
  const Handle at = r.op(Op::add, column(0), r.index(1, {n, width}, x));
  const Handle inside = r.op(Op::less, at, column(1));
  const Handle rows = r.where(inside, at, 0);
  const Tensor gathered = take(r.arg(x), r.arg(rows), 0, Bounds::clip);
  return Tensor(r.where(r.reshape(inside, mask), gathered.handle(), rest));
}

Ragged ragged(const std::vector<Tensor>& sequences, Site s) {
  if (sequences.empty()) fail<ShapeError>(kRagged, "no sequences", s);
  std::vector<int64_t> lengths;
  for (const Tensor& t : sequences) lengths.push_back(t.size(0, s));
  Tensor values = concat(sequences, 0, s);
  return {values, offsets_of(lengths, values.handle(), s)};
}

Ragged ragged(Arg padded, std::span<const int64_t> lengths) {
  const Recorder r{kRagged, padded.site()};
  const Handle x = Operand(kRagged, padded).take();
  const Shape& shape = x->shape;
  if (shape.size() < 2 || shape[0] != static_cast<int64_t>(lengths.size()))
    r.fail<ShapeError>(to_string(shape) + " is not (N, T, ...) for " + std::to_string(lengths.size()) +
                       " lengths");
  std::vector<int64_t> rows;
  for (size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] < 0 || lengths[n] > shape[1])
      r.fail<ShapeError>("length " + std::to_string(lengths[n]) + " of sequence " + std::to_string(n) +
                         " is not in [0, " + std::to_string(shape[1]) + "]");
    for (int64_t t = 0; t < lengths[n]; ++t) rows.push_back(static_cast<int64_t>(n) * shape[1] + t);
  }
  const auto total = static_cast<int64_t>(rows.size());
  const Handle flat = r.reshape(x, flat_shape(shape)),
               at = detail::values(rows.data(), int64, {total}, x, r.site);
  return {take(r.arg(flat), r.arg(at), 0, Bounds::strict), offsets_of(lengths, x, r.site)};
}

Ragged ragged(Arg padded, const Tensor& lengths) {
  const Site s = padded.site();
  if (!is_int(lengths.dtype(s)))
    fail<DtypeError>(kRagged, std::string("lengths are integers, not ") + name_of(lengths.dtype(s)), s);
  const std::vector<int64_t> all = Tensor(detail::cast(lengths.handle(), int64, s)).to_vector<int64_t>(s);
  return ragged(std::move(padded), std::span(all));
}

}  // namespace lazy
