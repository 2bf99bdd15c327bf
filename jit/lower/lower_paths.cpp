// Works out paths from a kernel's index to that of a value it reads.
#include "jit/lower/lowering.hpp"

namespace lazy::jit {

uint32_t Lowering::extend(uint32_t path, uint32_t v, bool align) {
  const uint64_t key = (static_cast<uint64_t>(path) << 32 | at(v).node) * 2 + align;
  const auto [id, fresh] = path_ids_.try_emplace(key, static_cast<uint32_t>(p_.paths.size()));
  if (fresh) p_.paths.push_back({path, at(v).node, align});
  return id;
}

/// Returns the path by which view `w`, read along `path`, reads its operand. Identity steps next to the
/// kernel vanish.
uint32_t Lowering::through_view(uint32_t w, uint32_t path) {
  return path == 0 && is_identity_view(t_, w) ? 0 : extend(path, w, false);
}

/// Returns the path to operand `o`. Values read along one path have the same extents, so broadcasting to any
/// of them of one form is the same index map: a tensor that a hundred ops broadcast is loaded once.
uint32_t Lowering::to_operand(Region& r, uint32_t o, uint32_t user, uint32_t path) {
  const Value &from = at(o), &to = at(user);
  if (path == 0 ? same_index(t_, o, user) : from.rank == to.rank && from.ones == to.ones) return path;
  const uint64_t form = static_cast<uint64_t>(path) << 32 | static_cast<uint64_t>(to.rank) << 16 | to.ones;
  const auto [aligned, fresh] = r.aligned.try_emplace(form, 0);
  if (fresh) aligned = extend(path, user, true);
  return aligned;
}

Places Lowering::places(uint32_t path, uint32_t v, int64_t only_dim) const {
  return places_along(p_, *t_.captured, path, shape(v), AtReshape::packed, only_dim);
}

// True if a path goes through a reshape that only packed memory can be read by.
bool Lowering::reshapes(uint32_t path) const {
  for (uint32_t p = path; p; p = p_.paths[p].parent) {
    const Node& n = *t_.captured->values[p_.paths[p].node];
    if (!p_.paths[p].align && n.op == Op::reshape && !is_unit_reshape(n)) return true;
  }
  return false;
}

}  // namespace lazy::jit
