// Emulates a CUDA device: a shared library that exports what libcuda, libnvrtc, libcublasLt, libcufft and
// libnccl do, as far as the product uses it. Its NVRTC compiles a kernel's text with the host's C++ compiler,
// its driver runs the result on fibers, one block after the other. It is stricter than a device: what CUDA
// leaves undefined it diagnoses, on stderr.
//
// Environment, read by the first call (and the first after emulated_cuda_reset()):
//   EMULATED_CUDA_VERSION         of CUDA, as the driver says it; 13000
//   EMULATED_CUDA_DEVICES         how many devices; 1
//   EMULATED_CUDA_ARCH            of all of them; sm_90
//   EMULATED_CUDA_MEMORY          bytes of each, with K, M or G; 4G
//   EMULATED_CUDA_MULTIPROCESSORS  what the attribute says; 8
//   EMULATED_CUDA_ORDER           of threads, lanes, blocks and independent nodes of graphs: forward,
//                                 reverse, shuffled or shuffled:SEED; forward
//   EMULATED_CUDA_ASYNC           0: streams run at once, in the calling thread. Otherwise each runs on a
//                                 thread of its own, and starts a piece of work no sooner than this many
//                                 microseconds after it was given (1: 1000), unless somebody waits for it; 0
//   EMULATED_CUDA_COMPILE         all: NVRTC compiles texts. launched: it takes them as they are, and its log
//                                 knows no shared memory; a kernel is compiled by itself when it is first
//                                 launched. Texts of which none was are checked when the process ends. An
//                                 error ends the process with status 2; all
//   EMULATED_CUDA_PATIENCE        milliseconds that a module's kernels run before they are optimised, which
//                                 takes about as long; 100
//   EMULATED_CUDA_HOST_POINTERS   1: kernels may use the host's memory; 0
//   EMULATED_CUDA_PROTECT         1: the host cannot touch device memory while no work is under way; 0
//   EMULATED_CUDA_INJECT          failures, as function:nth call:result,... (cuMemAllocAsync:3:2); none
//   EMULATED_CUDA_STALL           rank:n: the n-th group of NCCL's messages of this rank never gets anywhere;
//                                 none
//   EMULATED_CUDA_CACHE           a folder to keep compiled modules in, for any number of processes; none
//
// Functions a test may call beside CUDA's own:
#pragma once
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {
/// Makes the `nth_call` from now on (1: the next) of a driver, NVRTC, cuBLASLt, cuFFT or NCCL function do
/// nothing and return `result`. A result that CUDA knows as sticky (700-719) also loses the current device.
/// False if there is no such function.
bool emulated_cuda_inject(const char* function, int nth_call, int result);
/// Returns the number of calls of a driver, NVRTC, cuBLASLt, cuFFT or NCCL function, failed ones too; -1 if
/// there is no such function.
int64_t emulated_cuda_count(const char* function);
/// Returns the bytes of device memory that are allocated, on all devices.
size_t emulated_cuda_live_bytes();
/// Returns the number of kernels that ran, those of graphs too.
int64_t emulated_cuda_kernels_run();
/// Finishes all work and forgets everything: handles, memory, errors, counts, failures to inject.
void emulated_cuda_reset();
}
#pragma GCC visibility pop
