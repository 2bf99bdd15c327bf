// Defines the interface between a compiled module and the emulated driver. The shim includes it in front of
// every kernel text, so it includes nothing.
#pragma once

namespace emulated {

struct Dim3 {
  unsigned x, y, z;
};

/// Lists what the lanes of a warp do together.
enum class Collective { shuffle, shuffle_up, shuffle_down, shuffle_xor, any, all, ballot, sync };

/// Holds the state of one loaded module; the driver runs one of its kernels at a time and sets the indices
/// before it lets a thread run.
struct State {
  Dim3 thread, block, block_dim, grid_dim;
  void* dynamic_shared;
  void* runner;  // first argument of the functions below
  void (*barrier)(void* runner, int line);
  unsigned long long (*collective)(void* runner, Collective, unsigned mask, unsigned long long value,
                                   unsigned argument, int width, int line);
};

struct Kernel {
  const char* name;
  void (*thread)(void** params);  // runs one thread, from its start to its return
  unsigned param_bytes;
  unsigned launch_bounds;    // most threads of a block; 0: not stated
  const unsigned* pointers;  // offsets of pointers in its parameter; ends with ~0u
};

/// Exported by a module as `emulated_module`.
struct Module {
  State* state;
  const Kernel* kernels;
  unsigned count;
};

}  // namespace emulated
