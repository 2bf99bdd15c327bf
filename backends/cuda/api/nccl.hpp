// Declares NCCL as a table of functions. It is opened when devices of several processes first exchange
// something.
#pragma once
#include "backends/cuda/api/types.hpp"

namespace lazy::cuda_backend::api {

using NcclComm = struct NcclCommStruct*;
inline constexpr Result kNcclInProgress = 7;
/// Declares ncclDataType_t; `u8` is what messages are of.
enum class NcclType : int { i8 = 0, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
enum class NcclReduction : int { sum = 0 };  // ncclRedOp_t

/// Declares ncclUniqueId.
struct NcclId {
  char bytes[128];
};
/// Declares ncclConfig_t as it began, which later versions take too: what it lacks they set themselves.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 1;  // 0: calls return while they are under way, and state() says when they are done
};

struct Nccl {
#define LAZY_NCCL(result, field, name, ...) result (*field)(__VA_ARGS__) = nullptr;
#include "backends/cuda/api/nccl.def"
};

/// Throws DeviceError if there is none, at each call again.
const Nccl& nccl();

}  // namespace lazy::cuda_backend::api
