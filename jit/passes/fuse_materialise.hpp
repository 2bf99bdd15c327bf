// Declares the passes that decide which values get memory. choose_materialised (fuse_materialise.cpp) calls
// them in order.
#pragma once
#include "jit/passes/fusion_draft.hpp"

namespace lazy::jit {

/// Gives memory to operands that a kernel can only read from there. Reads `needed`, `packed`, `materialised`.
void materialise_operands_that_must_exist(FusionDraft&);

/// Names the place where a value that is inlined is computed. Equal places compute it once.
class Home {
 public:
  Home() = default;
  static Home kernel(int index) { return {Kind::kernel, static_cast<uint32_t>(index)}; }
  /// Returns the place of the index maps of a view or call `v`, as if it were a separate kernel.
  static Home index_maps_of(uint32_t v) { return {Kind::index_maps, v}; }
  static Home many() { return {Kind::many, 0}; }
  /// Returns the place of a value that is broadcast to one computed here: it has another index map.
  Home broadcast() const {
    Home h = *this;
    ++h.broadcasts_;
    return h;
  }
  bool is_unset() const { return *this == Home(); }
  bool is_many() const { return *this == many(); }
  /// Returns the kernel if the place is all of one and no broadcast to it, else -1.
  int whole_kernel() const { return kind_ == Kind::kernel && broadcasts_ == 0 ? static_cast<int>(id_) : -1; }
  bool operator==(const Home&) const = default;

 private:
  enum class Kind : uint8_t { unset, kernel, index_maps, many };
  Home(Kind kind, uint32_t id) : kind_(kind), id_(id) {}
  Kind kind_ = Kind::unset;
  uint32_t id_ = 0;          // kernel: index into groups; index_maps: the value
  uint32_t broadcasts_ = 0;  // how many there are between the value and what is computed at the index
};

/// Says how a value is used by the kernels that it may be inlined into.
struct ValueUse {
  Home home;                  // where it would be computed
  uint32_t last_chunk = 0;    // chunk of its last reader
  bool in_row = false;        // a reduction along its last axis reads it, or a value computed from it
  bool moved = false;         // it, or a value computed from it, is read at another index
  bool reads_itself = false;  // one of these reads it itself
};
/// Returns how each value would be used if nothing more got memory, by value. Reads all facts but `packed`.
std::vector<ValueUse> find_uses(const FusionDraft&, const std::vector<KernelAssignment::Placed>&);

/// Gives memory to results of rolled loops, unless only one map kernel reads them: a rolled loop is computed
/// in one.
void materialise_results_of_loops(FusionDraft&, const KernelAssignment&, const std::vector<ValueUse>&);

/// Gives memory to values that cost more to compute again than to read back, or that read too much. Makes
/// `reads` and `making`.
void materialise_the_dear(FusionDraft&, const KernelAssignment&, const std::vector<ValueUse>&);

}  // namespace lazy::jit
