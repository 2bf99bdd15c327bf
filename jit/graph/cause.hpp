// Lists the reasons for a flush.
#pragma once
#include <cstdint>

namespace lazy::jit {

// clang-format off
#define LAZY_CAUSES(X) \
  X(item) X(to_vector) X(data) X(print) X(eval) X(truth)      /* someone looks at a value */ \
  X(count)                                                    /* a result's size depends on values */ \
  X(node_limit) X(byte_limit)                                 /* the pending graph reached a limit */ \
  X(other_thread)                                             /* another thread uses a pending value */ \
  X(eager) X(transfer)                                        /* LAZY_EAGER; to another device */
// clang-format on

enum class Cause : uint8_t {
#define LAZY_CAUSE(name) name,
  LAZY_CAUSES(LAZY_CAUSE)
#undef LAZY_CAUSE
};

inline constexpr const char* kCauses[] = {
#define LAZY_CAUSE(name) #name,
    LAZY_CAUSES(LAZY_CAUSE)
#undef LAZY_CAUSE
};
inline constexpr int kCauseCount = sizeof kCauses / sizeof kCauses[0];
constexpr const char* name_of(Cause c) { return kCauses[static_cast<int>(c)]; }

}  // namespace lazy::jit
