#include "lazy/distributed/collectives.hpp"

#include "jit/built_in/registry.hpp"
#include "lazy/autograd/backward.hpp"
#include "lazy/core/operands.hpp"
#include "lazy/distributed/exchange.hpp"
#include "lazy/ops/recorder.hpp"

namespace lazy::distributed {
namespace {

using namespace lazy::detail;
using detail::CollectiveAttributes;
using detail::Kind;

std::vector<jit::CallOutput> infer_collective(const jit::CallSpec& spec, std::span<const jit::Meta> o) {
  const auto a = spec.as<CollectiveAttributes>();
  std::vector<jit::CallOutput> all;
  for (size_t i = 0; i < o.size(); ++i) {
    if (o[i].dtype != o[0].dtype)
      throw DtypeError(std::string(spec.name()) + ": values of one dtype are needed");
    jit::CallOutput out = jit::CallOutput::like(static_cast<int>(i), o[i], o[i].dtype);
    const bool scatters = a.of() == Kind::reduce_scatter || a.of() == Kind::all_to_all;
    if (scatters && (o[i].shape.empty() || o[i].shape[0] % a.ranks))
      throw ShapeError(std::string(spec.name()) + ": " + std::to_string(a.ranks) +
                       " ranks do not divide the first axis of " + lazy::to_string(o[i].shape));
    if (a.of() == Kind::all_gather || a.of() == Kind::reduce_scatter) {
      if (o[i].shape.empty()) throw ShapeError(std::string(spec.name()) + ": a value without axes");
      out.tied[0] = {};
      out.meta.shape[0] = a.of() == Kind::all_gather ? o[i].shape[0] * a.ranks : o[i].shape[0] / a.ranks;
    }
    all.push_back(out);
  }
  return all;
}

std::vector<Handle> record(Kind, ReduceOp, int root, std::span<const Handle>, const Site&);

std::vector<Handle> collective_gradients(const jit::CallGradients& d) {
  const auto a = d.spec.as<CollectiveAttributes>();
  const auto reduction = static_cast<ReduceOp>(a.reduction);
  if (reduction != ReduceOp::none && reduction != ReduceOp::sum)
    fail<Error>(d.spec.name(),
                std::string("the ") + detail::name_of(reduction) + " of ranks has no derivative", d.site);
  const Recorder r{d.spec.name(), d.site};
  const size_t n = d.gradients.size();
  std::vector<Handle> g;
  switch (a.of()) {
    case Kind::all_reduce: g = record(Kind::all_reduce, ReduceOp::sum, -1, d.gradients, d.site); break;
    case Kind::all_gather: g = record(Kind::reduce_scatter, ReduceOp::sum, -1, d.gradients, d.site); break;
    case Kind::reduce_scatter: g = record(Kind::all_gather, ReduceOp::none, -1, d.gradients, d.site); break;
    case Kind::all_to_all: g = record(Kind::all_to_all, ReduceOp::none, -1, d.gradients, d.site); break;
    case Kind::broadcast: {
      // Every rank takes part; the others' values have no part in the result.
      g = record(Kind::all_reduce, ReduceOp::sum, -1, d.gradients, d.site);
      for (size_t i = 0; rank() != a.root && i < n; ++i) g[i] = r.filled(0, g[i]->dtype, g[i]->shape, g[i]);
      break;
    }
    case Kind::barrier: break;
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
          .vjp = collective_gradients};
}
constinit const jit::CallDefinition kCollectives[] = {
    definition("all_reduce"), definition("all_gather"), definition("reduce_scatter"),
    definition("broadcast"),  definition("all_to_all"), definition("ranks_barrier")};

std::vector<Handle> record(Kind kind, ReduceOp reduction, int root, std::span<const Handle> values,
                           const Site& s) {
  static const bool registered = [] {
    for (const jit::CallDefinition& d : kCollectives) jit::register_call(d);
    return true;
  }();
  (void)registered;
  CollectiveAttributes a;
  a.kind = static_cast<uint8_t>(kind), a.reduction = static_cast<uint8_t>(reduction);
  a.root = root, a.ranks = world_size();
  return lazy::detail::record_call(jit::intern_call(kCollectives[static_cast<size_t>(kind)], a),
                                   pointers_to(values), s);
}

std::vector<Tensor> recorded(Kind kind, ReduceOp reduction, int root, const std::vector<Tensor>& values,
                             const Site& s) {
  const char* const name = detail::name_of(kind);
  std::vector<Handle> operands;
  for (const Tensor& v : values) {
    operands.push_back(Operand(name, Arg(v, s)).take());
    const DType t = operands.back()->dtype;
    if (reduction != ReduceOp::none && is_bool(t))
      fail<DtypeError>(name, "bool has no such combination: convert with astype", s);
    if (reduction == ReduceOp::mean && !is_float(t))
      fail<DtypeError>(name, std::string("the mean of ") + lazy::name_of(t) + ": only of floating point", s);
  }
  const bool mean = reduction == ReduceOp::mean;
  const int ranks = world_size();
  if (ranks == 1 || operands.empty()) return values;
  std::vector<Tensor> all;
  const Recorder r{name, s};
  for (Handle& h : record(kind, mean ? ReduceOp::sum : reduction, root, operands, s))
    all.push_back(r.tensor(mean ? r.op(Op::divide, h, ScalarNumber(static_cast<double>(ranks))) : h));
  return all;
}

void check_root(Kind kind, const IntegerArg& root, const Site& s) {
  if (root.value < 0 || root.value >= world_size())
    fail<IndexError>(detail::name_of(kind),
                     "rank " + std::to_string(root.value) + " of " + std::to_string(world_size()), s);
}

}  // namespace

Tensor all_reduce(const Tensor& x, ReduceOp reduction, Site s) {
  return recorded(Kind::all_reduce, reduction, -1, {x}, s)[0];
}
std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, ReduceOp reduction, Site s) {
  return recorded(Kind::all_reduce, reduction, -1, values, s);
}
Tensor all_gather(const Tensor& x, Site s) {
  return recorded(Kind::all_gather, ReduceOp::none, -1, {x}, s)[0];
}
Tensor reduce_scatter(const Tensor& x, ReduceOp reduction, Site s) {
  return recorded(Kind::reduce_scatter, reduction, -1, {x}, s)[0];
}
Tensor broadcast(const Tensor& x, IntegerArg root, Site s) {
  check_root(Kind::broadcast, root, s);
  return recorded(Kind::broadcast, ReduceOp::none, static_cast<int>(root.value), {x}, s)[0];
}
std::vector<Tensor> broadcast(const std::vector<Tensor>& values, IntegerArg root, Site s) {
  check_root(Kind::broadcast, root, s);
  return recorded(Kind::broadcast, ReduceOp::none, static_cast<int>(root.value), values, s);
}
Tensor all_to_all(const Tensor& x, Site s) {
  return recorded(Kind::all_to_all, ReduceOp::none, -1, {x}, s)[0];
}

void barrier(Site s) {
  if (world_size() > 1) {
    const Handle nothing = constant(ScalarNumber(0), DType::uint8, Shape{0}, s);
    (void)record(Kind::barrier, ReduceOp::none, -1, std::span(&nothing, 1), s);
  }
  jit::run_effects(s);
}

}  // namespace lazy::distributed
