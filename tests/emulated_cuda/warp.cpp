#include "tests/emulated_cuda/warp.hpp"

#include <bit>

namespace emulated {
namespace {

constexpr uint64_t kGarbage = 0xa5a5a5a5a5a5a5a5;

int source(const Meeting& m, int lane) {
  const int first = lane & ~(m.width - 1), argument = static_cast<int>(m.argument[static_cast<size_t>(lane)]);
  switch (m.kind) {
    case Collective::shuffle: return first + (argument & (m.width - 1));
    case Collective::shuffle_up: return lane - argument >= first ? lane - argument : lane;
    case Collective::shuffle_down: return lane + argument < first + m.width ? lane + argument : lane;
    default: return (lane ^ argument) < first + m.width ? lane ^ argument : lane;
  }
}

}  // namespace

uint64_t outcome(const Meeting& m, int lane) {
  if (m.kind == Collective::sync) return 0;
  if (m.kind == Collective::any || m.kind == Collective::all || m.kind == Collective::ballot) {
    uint32_t votes = 0;
    for (uint32_t i = 0; i < 32; ++i)
      votes |= static_cast<uint32_t>((m.mask >> i & 1) != 0 && m.value[i] != 0) << i;
    if (m.kind == Collective::ballot) return votes;
    return m.kind == Collective::any ? votes != 0 : votes == m.mask;
  }
  const int from = source(m, lane);
  return from >= 0 && from < 32 && (m.mask >> from & 1) != 0 ? m.value[static_cast<size_t>(from)] : kGarbage;
}

const char* complaint(uint32_t mask, int width, int lane, int lanes) {
  if ((mask >> lane & 1) == 0) return "is not in the mask that it gives";
  if (lanes < 32 && mask >> lanes != 0) return "names lanes in its mask that the block does not have";
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    return "gives a width that is no power of two";
  }
  return nullptr;
}

const char* name_of(Collective kind) {
  switch (kind) {
    case Collective::shuffle: return "__shfl_sync";
    case Collective::shuffle_up: return "__shfl_up_sync";
    case Collective::shuffle_down: return "__shfl_down_sync";
    case Collective::shuffle_xor: return "__shfl_xor_sync";
    case Collective::any: return "__any_sync";
    case Collective::all: return "__all_sync";
    case Collective::ballot: return "__ballot_sync";
    case Collective::sync: return "__syncwarp";
  }
  return "";
}

}  // namespace emulated
