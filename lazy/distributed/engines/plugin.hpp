// Says what a shared object exports that is an engine: liblazy_gloo.so, liblazy_mpi.so. It is opened when a
// world is made that asks for it, so that programs need no library of others to start.
#pragma once
#include "lazy/distributed/engines/engine.hpp"

namespace lazy::distributed {

/// Holds what an engine is made from.
struct EngineRequest {
  int rank = 0, size = 1;
  const char* host = "";           // of this machine's interface that others reach, as rank 0 sees it
  const Gather* gather = nullptr;  // null for an engine that knows the world by itself
};

/// Changes whenever engine.hpp or this header does in a way that matters: objects of other builds are
/// refused.
inline constexpr uint64_t kPluginVersion = 2'000'000 + sizeof(Announcement) * 1000 + sizeof(EngineRequest);

extern "C" {
/// Returns kPluginVersion.
using PluginVersion = uint64_t (*)();
/// Returns a new engine, or null and a text of at most `bytes` that says why there is none.
using PluginMake = Engine* (*)(const EngineRequest&, char* why, size_t bytes);
/// Sets rank and size, and returns true: where the plugin's launcher says who is who, as mpirun does.
using PluginPlace = bool (*)(int* rank, int* size, char* why, size_t bytes);
/// Gives every rank of such a plugin the text of rank 0, of at most `bytes` bytes.
using PluginTell = void (*)(char* text, size_t bytes);
}

}  // namespace lazy::distributed
