#include "lazy/distributed/collectives.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "jit/built_in/registry.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/autograd/planed.hpp"
#include "lazy/complex/complex.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/distributed/collective.hpp"
#include "lazy/distributed/communicator.hpp"
#include "lazy/distributed/flat_shards.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::distributed {
namespace {

using namespace lazy::detail;
using detail::CollectiveAttributes;
using detail::Kind;
using detail::Phase;

/// Returns an output of a collective that was given this operand.
jit::CallOutput output_of(const jit::CallSpec& spec, const CollectiveAttributes& a, int i,
                          const jit::Meta& o) {
  jit::CallOutput out = jit::CallOutput::like(i, o, o.dtype);
  const bool scatters = a.of() == Kind::reduce_scatter || a.of() == Kind::all_to_all;
  if (scatters && (o.shape.empty() || o.shape[0] % a.ranks))
    throw ShapeError(std::string(spec.name()) + ": " + std::to_string(a.ranks) +
                     " ranks do not divide the first axis of " + lazy::to_string(o.shape));
  if (a.of() == Kind::all_gather || a.of() == Kind::reduce_scatter) {
    if (o.shape.empty()) throw ShapeError(std::string(spec.name()) + ": a value without axes");
    out.tied[0] = {};
    out.meta.shape[0] = a.of() == Kind::all_gather ? o.shape[0] * a.ranks : o.shape[0] / a.ranks;
  }
  return out;
}

std::vector<jit::CallOutput> infer_collective(const jit::CallSpec& spec, std::span<const jit::Meta> o) {
  const CollectiveAttributes a = detail::attributes_of(spec);
  std::vector<jit::CallOutput> all;
  if (a.of() == Kind::send) return all;
  if (a.of() == Kind::recv) {
    const auto r = spec.as<detail::ReceiveAttributes>();
    if (r.axes < 0 || r.axes > kMaxRank || r.dtype < 0 || r.dtype >= kDTypeCount)
      throw ShapeError("recv: a shape that can't be");
    jit::CallOutput out;
    out.meta.dtype = static_cast<DType>(r.dtype);
    for (int i = 0; i < r.axes; ++i) out.meta.shape.push_back(r.extents[i]);
    return {out};
  }
  const bool waits = a.when() == Phase::wait;
  if (o.size() < (waits ? 2u : 1u)) throw ShapeError(std::string(spec.name()) + ": no values");
  const std::span<const jit::Meta> values = o.subspan(waits ? 1 : 0);
  for (const jit::Meta& v : values)
    if (v.dtype != values[0].dtype)
      throw DtypeError(std::string(spec.name()) + ": values of one dtype are needed");
  if (a.when() == Phase::start) {
    if (!a.flat)
      for (size_t i = 0; i < values.size(); ++i) (void)output_of(spec, a, static_cast<int>(i), values[i]);
    jit::CallOutput ticket;
    ticket.meta = {DType::uint64, Shape{}};
    return {ticket};
  }
  const int first = waits ? 1 : 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int at = first + static_cast<int>(i);
    all.push_back(a.flat ? jit::CallOutput::like(at, values[i], values[i].dtype)
                         : output_of(spec, a, at, values[i]));
  }
  return all;
}

/// Results of the operands' own shapes may lie where these do: they were copied when the exchange began.
int in_place_of(const jit::CallSpec& spec, int output) {
  const CollectiveAttributes a = detail::attributes_of(spec);
  return a.when() == Phase::wait && (a.flat || a.of() == Kind::all_reduce) ? output + 1 : -1;
}

std::vector<Handle> record(const CollectiveAttributes&, std::span<const Handle>, const Site&);

std::vector<Handle> collective_gradients(const jit::CallGradients& d) {
  const auto given = detail::attributes_of(d.spec);
  const ReduceOp reduction = given.how();
  if (given.of() == Kind::send || given.of() == Kind::recv || given.when() != Phase::whole)
    fail<Error>(d.spec.name(), "it has no derivative", d.site);
  if (reduction != ReduceOp::none && reduction != ReduceOp::sum)
    fail<Error>(d.spec.name(),
                std::string("the ") + detail::name_of(reduction) + " of ranks has no derivative", d.site);
  const Recorder r{d.spec.name(), d.site};
  const size_t n = d.gradients.size();
  CollectiveAttributes back = given;
  const auto set = [&](Kind k, ReduceOp how, int root) {
    back.kind = static_cast<uint8_t>(k), back.reduction = static_cast<uint8_t>(how), back.root = root;
  };
  switch (given.of()) {
    case Kind::all_reduce: break;
    case Kind::all_gather: set(Kind::reduce_scatter, ReduceOp::sum, -1); break;
    case Kind::reduce_scatter: set(Kind::all_gather, ReduceOp::none, -1); break;
    case Kind::shift: set(Kind::shift, ReduceOp::none, -given.root); break;
    case Kind::broadcast: set(Kind::all_reduce, ReduceOp::sum, -1); break;
    default: break;
  }
  std::vector<Handle> g = record(back, d.gradients, d.site);
  // Every rank takes part in a broadcast; the others' values have no part in the result.
  if (given.of() == Kind::broadcast) {
    const detail::Communicator* const c = detail::communicator();
    const std::vector<int> members = c ? c->members(given.group) : std::vector<int>{0};
    if (members.at(static_cast<size_t>(given.root)) != rank())
      for (size_t i = 0; i < n; ++i) g[i] = r.filled(0, g[i]->dtype, g[i]->shape, g[i]);
  }
  g.resize(d.operands.size());
  return g;
}

constexpr jit::CallDefinition definition(const char* name) {
  namespace trait = jit::call_trait;
  return {.name = name,
          .traits = trait::kEffect | trait::kNoRecompute | trait::kVaries | trait::kNoThrow |
                    trait::kHostOnly | trait::kMayPass,
          .infer = infer_collective,
          .run = detail::run_collective,
          .workspace = detail::collective_workspace,
          .takes_device = detail::carries_device,
          .in_place = in_place_of,
          .vjp = collective_gradients};
}
// Whole collectives by kind, then those that start, and what waits for them.
constinit const jit::CallDefinition kCollectives[] = {definition("all_reduce"),
                                                      definition("all_gather"),
                                                      definition("reduce_scatter"),
                                                      definition("broadcast"),
                                                      definition("all_to_all"),
                                                      definition("ranks_barrier"),
                                                      definition("ranks_shift"),
                                                      definition("send"),
                                                      definition("recv"),
                                                      definition("start_all_reduce"),
                                                      definition("start_all_gather"),
                                                      definition("start_reduce_scatter"),
                                                      definition("wait_for_ranks")};

const jit::CallDefinition& definition_of(const CollectiveAttributes& a) {
  static const bool registered = [] {
    for (const jit::CallDefinition& d : kCollectives) jit::register_call(d);
    return true;
  }();
  (void)registered;
  const size_t kind = a.kind;
  if (a.when() == Phase::whole) return kCollectives[kind];
  return kCollectives[a.when() == Phase::start ? detail::kKinds + kind : std::size(kCollectives) - 1];
}

std::vector<Handle> record(const CollectiveAttributes& a, std::span<const Handle> values, const Site& s) {
  return lazy::detail::record_call(jit::intern_call(definition_of(a), a), pointers_to(values), s);
}

CollectiveAttributes attributes(Kind kind, ReduceOp reduction, int root, const Group& group) {
  CollectiveAttributes a;
  a.kind = static_cast<uint8_t>(kind), a.reduction = static_cast<uint8_t>(reduction);
  a.root = root, a.ranks = group.size(), a.group = group.id();
  return a;
}

ReduceOp exchanged(ReduceOp r) { return r == ReduceOp::mean ? ReduceOp::sum : r; }

/// Throws Error unless this rank is in the group.
void check_member(Kind kind, const Group& group, const Site& s) {
  if (group.contains_this()) return;
  std::string ranks;
  for (const int r : group.ranks()) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  fail<Error>(detail::name_of(kind),
              "rank " + std::to_string(rank()) + " is not in the group of ranks " + ranks, s);
}

/// True for a kind that takes one value: of a complex one both parts lie side by side then.
bool takes_one(Kind k) {
  return k == Kind::all_gather || k == Kind::reduce_scatter || k == Kind::all_to_all || k == Kind::shift;
}

/// Returns the handles of values that can be combined so, and of complex ones those of both planes.
std::vector<Handle> operands_of(Kind kind, ReduceOp reduction, const std::vector<Tensor>& values,
                                const Group& group, const Site& s) {
  const char* const name = detail::name_of(kind);
  check_member(kind, group, s);
  std::vector<Handle> operands;
  for (const Tensor& v : values) {
    const Handle h = Operand(name, Arg(v, s)).take();
    const DType t = h->dtype;
    if (is_complex(t) && takes_one(kind)) operands.push_back(view_as_real(Arg(v, s)).handle());
    else {
      const Planed planes(h);
      operands.insert(operands.end(), planes.all().begin(), planes.all().end());
    }
    if (is_complex(t) && reduction != ReduceOp::none && exchanged(reduction) != ReduceOp::sum)
      fail<DtypeError>(name,
                       std::string("the ") + detail::name_of(reduction) + " of " + lazy::name_of(t) +
                           ": only sums and means",
                       s);
    if (reduction != ReduceOp::none && is_bool(t))
      fail<DtypeError>(name, "bool has no such combination: convert with astype", s);
    if (reduction == ReduceOp::mean && !is_float(t) && !is_complex(t))
      fail<DtypeError>(name, std::string("the mean of ") + lazy::name_of(t) + ": only of floating point", s);
  }
  return operands;
}

/// Returns results as tensors, those of planes of complex values as pairs: sums as means, where these are
/// wanted.
std::vector<Tensor> finished(std::vector<Handle> results, const std::vector<Tensor>& values, Kind kind,
                             bool mean, int ranks, const Site& s) {
  std::vector<Tensor> all;
  const Recorder r{detail::name_of(kind), s};
  if (mean)
    for (Handle& h : results) h = r.op(Op::divide, h, ScalarNumber(static_cast<double>(ranks)));
  size_t next = 0;
  for (size_t i = 0; next < results.size(); ++i) {
    const Handle& first = results[next++];
    const bool pair = i < values.size() && is_complex(values[i].dtype(s));
    if (!pair) all.push_back(r.tensor(first));
    else if (takes_one(kind)) all.push_back(view_as_complex(Arg(first, s)));
    else all.emplace_back(jit::complex(first, results[next++], s));
  }
  return all;
}

std::vector<Tensor> recorded(Kind kind, ReduceOp reduction, int root, const std::vector<Tensor>& values,
                             const Group& group, const Site& s) {
  const std::vector<Handle> operands = operands_of(kind, reduction, values, group, s);
  if (group.size() == 1 || operands.empty()) return values;
  return finished(record(attributes(kind, exchanged(reduction), root, group), operands, s), values, kind,
                  reduction == ReduceOp::mean, group.size(), s);
}

int checked_root(Kind kind, const IntegerArg& root, const Group& group, const Site& s) {
  if (root.value < 0 || root.value >= group.size())
    fail<IndexError>(detail::name_of(kind),
                     "rank " + std::to_string(root.value) + " of " + std::to_string(group.size()), s);
  return static_cast<int>(root.value);
}
int checked_other(Kind kind, const IntegerArg& other, const Group& group, const Site& s) {
  check_member(kind, group, s);
  const int r = checked_root(kind, other, group, s);
  if (r == group.rank())
    fail<IndexError>(detail::name_of(kind), "rank " + std::to_string(r) + " is this one", s);
  return r;
}

}  // namespace

Tensor all_reduce(const Tensor& x, ReduceOp reduction, const Group& group, Site s) {
  return recorded(Kind::all_reduce, reduction, -1, {x}, group, s)[0];
}
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, ReduceOp reduction, const Group& group,
                               Site s) {
  return recorded(Kind::all_reduce, reduction, -1, values, group, s);
}
Tensor all_gather(const Tensor& x, const Group& group, Site s) {
  return recorded(Kind::all_gather, ReduceOp::none, -1, {x}, group, s)[0];
}
Tensor reduce_scatter(const Tensor& x, ReduceOp reduction, const Group& group, Site s) {
  return recorded(Kind::reduce_scatter, reduction, -1, {x}, group, s)[0];
}
Tensor broadcast(const Tensor& x, IntegerArg root, const Group& group, Site s) {
  return broadcast(std::vector<Tensor>{x}, root, group, s)[0];
}
std::vector<Tensor> broadcast(const std::vector<Tensor>& values, IntegerArg root, const Group& group,
                              Site s) {
  const int r = checked_root(Kind::broadcast, root, group, s);
  return recorded(Kind::broadcast, ReduceOp::none, r, values, group, s);
}
Tensor all_to_all(const Tensor& x, const Group& group, Site s) {
  return recorded(Kind::all_to_all, ReduceOp::none, -1, {x}, group, s)[0];
}
Tensor shift(const Tensor& x, IntegerArg by, const Group& group, Site s) {
  const int64_t n = group.size();
  return recorded(Kind::shift, ReduceOp::none, static_cast<int>((by.value % n + n) % n), {x}, group, s)[0];
}

void barrier(const Group& group, Site s) {
  check_member(Kind::barrier, group, s);
  if (group.size() > 1) {
    const Handle nothing = constant(ScalarNumber(0), DType::uint8, Shape{0}, s);
    (void)record(attributes(Kind::barrier, ReduceOp::none, -1, group), std::span(&nothing, 1), s);
  }
  jit::run_effects(s);
}

void send(const Tensor& x, IntegerArg to, const Group& group, Site s) {
  const int other = checked_other(Kind::send, to, group, s);
  for (const Handle& plane : operands_of(Kind::send, ReduceOp::none, {x}, group, s))
    (void)record(attributes(Kind::send, ReduceOp::none, other, group), std::span(&plane, 1), s);
}

Tensor recv(const Shape& shape, DType dtype, IntegerArg from, const Group& group, Site s) {
  detail::ReceiveAttributes a;
  a.all = attributes(Kind::recv, ReduceOp::none, checked_other(Kind::recv, from, group, s), group);
  a.dtype = static_cast<int32_t>(plane_type(dtype)), a.axes = shape.size();
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) fail<ShapeError>("recv", "extents are not negative: " + to_string(shape), s);
    a.extents[i] = shape[i];
  }
  const Recorder r{"recv", s};
  const auto received = [&] {
    return lazy::detail::record_call(jit::intern_call(definition_of(a.all), a), {}, s)[0];
  };
  const Handle first = received();
  return is_complex(dtype) ? Tensor(jit::complex(first, received(), s)) : r.tensor(first);
}

struct Work::State {
  CollectiveAttributes attributes;  // of the start
  Handle ticket;
  std::vector<Handle> likes;
  std::vector<Tensor> values;  // what was given, which is the result where one rank is alone
  const char* name = "";
  bool mean = false;
  Site site;

  std::vector<Handle> wait(const Site& s) {
    CollectiveAttributes a = attributes;
    a.phase = static_cast<uint8_t>(Phase::wait);
    std::vector<Handle> operands{std::move(ticket)};
    for (Handle& h : likes) operands.push_back(std::move(h));
    return record(a, operands, s);
  }
};

Work::Work(std::unique_ptr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;
Work& Work::operator=(Work&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Work::~Work() {
  if (!state_ || !state_->ticket) return;
  try {
    (void)state_->wait(state_->site);
  } catch (const std::exception& e) { std::fprintf(stderr, "lazy: %s: %s\n", state_->name, e.what()); }
}

std::vector<Tensor> Work::wait(Site s) {
  if (!state_) throw Error("wait: the results have been taken already", s);
  const std::unique_ptr<State> state = std::move(state_);
  if (!state->ticket) return std::move(state->values);
  return finished(state->wait(s), state->values, state->attributes.of(), state->mean, state->attributes.ranks,
                  s);
}

/// Starts collectives.
struct WorkMaker {
  static Work make(Kind kind, ReduceOp reduction, const std::vector<Tensor>& values, bool flat,
                   const std::vector<Tensor>& likes, const Group& group, const Site& s) {
    const std::vector<Handle> operands = operands_of(kind, reduction, values, group, s);
    auto state = std::make_unique<Work::State>();
    state->name = detail::name_of(kind), state->mean = reduction == ReduceOp::mean, state->site = s;
    if (!flat || group.size() == 1) state->values = values;  // flat ones are real
    if (group.size() == 1 || operands.empty()) return Work(std::move(state));
    state->attributes = attributes(kind, exchanged(reduction), -1, group);
    state->attributes.phase = static_cast<uint8_t>(Phase::start), state->attributes.flat = flat;
    state->ticket = record(state->attributes, operands, s)[0];
    state->likes = flat ? operands_of(kind, ReduceOp::none, likes, group, s) : operands;
    return Work(std::move(state));
  }
};

Work start_all_reduce(const std::vector<Tensor>& values, ReduceOp reduction, const Group& group, Site s) {
  return WorkMaker::make(Kind::all_reduce, reduction, values, false, {}, group, s);
}
Work start_all_gather(const Tensor& x, const Group& group, Site s) {
  return WorkMaker::make(Kind::all_gather, ReduceOp::none, {x}, false, {}, group, s);
}
Work start_reduce_scatter(const Tensor& x, ReduceOp reduction, const Group& group, Site s) {
  return WorkMaker::make(Kind::reduce_scatter, reduction, {x}, false, {}, group, s);
}

int64_t detail::shard_elements(int64_t n, const Group& group) { return even_share(n, group.size()); }
Work detail::start_scatter_flat(const std::vector<Tensor>& values, const Tensor& shard, ReduceOp reduction,
                                const Group& group, const Site& s) {
  return WorkMaker::make(Kind::reduce_scatter, reduction, values, true, {shard}, group, s);
}
Work detail::start_gather_flat(const Tensor& shard, const std::vector<Tensor>& likes, const Group& group,
                               const Site& s) {
  return WorkMaker::make(Kind::all_gather, ReduceOp::none, {shard}, true, likes, group, s);
}

}  // namespace lazy::distributed
