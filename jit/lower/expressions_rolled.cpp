// Lowers loops that were recorded iteration by iteration: one iteration's code.
#include "jit/lower/expressions.hpp"

namespace lazy::jit {

// Lowers one iteration's code, which is repeated. What it takes from before has been evaluated.
void Expressions::rolled_loop(Region& r, const TraceLoop& loop, uint32_t path) {
  const uint32_t first = loop.first, period = loop.period;
  ScalarArgument trips;
  trips.from = trips.type = DType::int64;
  trips.value = loop.trips;
  const auto trips_at = static_cast<uint16_t>(b_.step.scalars.size());
  b_.step.scalars.push_back(trips);
  const auto scalars_at = static_cast<uint16_t>(b_.step.scalars.size());
  uint16_t scalars = 0;
  for (uint32_t trip = 0; trip < loop.trips; ++trip)
    for (uint32_t v = first; v < first + period; ++v) {
      if (at(v).op != Op::constant || !draft_.fusion.needed[v]) continue;
      b_.step.scalars.push_back(argument_of(v + trip * period));
      scalars = static_cast<uint16_t>(scalars + (trip == 0));
    }

  const auto begin = static_cast<uint16_t>(r.code.size());
  FlatMap<ValueId> carried;  // by the value before the rolled loop
  each_from_before(loop, [&](uint32_t, uint32_t o, bool fixed) {
    if (fixed || carried.contains(o)) return;
    const ValueId from = *r.memo.find(key(o, path));
    carried.try_emplace(o, r.push({Code::carried, {}, r.code[from].type, 0, from}));
  });
  std::vector<ValueId> made(period, kNoValue);
  uint16_t scalar = scalars_at;
  for (uint32_t v = first; v < first + period; ++v) {
    const Value& x = at(v);
    if (x.op == Op::constant && draft_.fusion.needed[v])
      made[v - first] = r.push({Code::scalar, {}, compute_type(x.dtype), scalar++});
    if (!is_computed(v)) continue;
    ValueId args[3] = {kNoValue, kNoValue, kNoValue};
    for (int i = 0; i < x.arity; ++i) {
      const uint32_t o = x.operand[i];
      if (o >= first) args[i] = made[o - first];
      else if (is_fixed(loop, v, i)) args[i] = *r.memo.find(key(o, to_operand(r, o, v, path)));
      else args[i] = *carried.find(o);
    }
    ValueId y = compute(r, x, args);
    // Nothing to compute: what is seen from outside or carried must yet be of the rolled loop itself.
    if (y < begin || r.code[y].code == Code::carried) y = r.push({Code::op, Op::cast, r.code[y].type, 0, y});
    made[v - first] = y;
  }
  for (uint32_t o = first - std::min(first, period); o < first; ++o)
    if (const ValueId* c = carried.find(o)) r.code[*c].b = made[o + period - first];
  for (uint32_t v = first; v < first + period; ++v)
    if (made[v - first] != kNoValue) r.memo.try_emplace(key(v - first + loop.last(), path), made[v - first]);
  b_.kernel.rolled_loops.push_back({begin, static_cast<uint16_t>(r.code.size()), trips_at, scalars});
}

}  // namespace lazy::jit
