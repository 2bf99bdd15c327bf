#include "backends/cuda/code.hpp"

#include <algorithm>

#include "support/archive.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend {

// Loads the library. It serves all contexts, so it does not matter which GPU comes first.
void Code::load(Gpu& gpu) const {
  const std::lock_guard hold(loading_);
  if (!functions_.empty()) return;
  gpu.enter();
  api::Library library = nullptr;
  gpu.check(gpu.with_room([&] {
    return gpu.driver.library_load(&library, cubin_.bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  }),
            "cuLibraryLoadData");
  std::vector<api::Function> found;
  for (const std::string& name : names_) {
    api::CudaKernel kernel = nullptr;
    gpu.check(gpu.driver.library_kernel(&kernel, library, name.c_str()), "cuLibraryGetKernel");
    found.push_back(reinterpret_cast<api::Function>(kernel));  // as cuLaunchKernel takes it
  }
  functions_ = std::move(found);
}

void Code::launch(Gpu& gpu, const std::vector<Launch>& launches, const uint64_t* words, size_t count,
                  bool in_memory) const {
  load(gpu);
  const Borrowed memory(gpu, in_memory ? count * sizeof(uint64_t) : 0);
  const auto address = reinterpret_cast<uint64_t>(memory.get());
  if (in_memory) {
    gpu.staging.write(memory.get(), words, count * sizeof(uint64_t));
    words = &address;
    count = 1;
  }
  try {
    for (const Launch& l : launches)
      gpu.launch({functions_[l.function], l.blocks, l.threads, l.shared_bytes, words, count});
  } catch (const DeviceError& e) {
    throw DeviceError(std::string(e.what()) + ", in " + names_.front() + (at_.empty() ? "" : " for " + at_));
  }
}

std::string Code::use() const {
  std::string text;
  for (const FunctionUse& f : functions_in(cubin_.log))
    text += "\n  " + f.name + ": " + std::to_string(f.registers) + " registers, " +
            std::to_string(f.spill_stores) + " bytes spilled, " + std::to_string(f.shared_bytes) +
            " bytes shared";
  return text;
}

std::string Code::log() const {
  std::string text;
  for (size_t at = 0; at < cubin_.log.size();) {
    const size_t end = std::min(cubin_.log.find('\n', at), cubin_.log.size());
    text += "// " + cubin_.log.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

std::string Code::stored() const {
  Saver s;
  s(cubin_.log);
  return s.take() += cubin_.bytes;
}

bool Code::from_stored(std::string_view stored, Cubin& cubin) {
  Loader l(stored);
  l(cubin.log);
  if (!l.ok() || l.left() == 0) return false;
  cubin.bytes = l.raw(l.left());
  return true;
}

}  // namespace lazy::cuda_backend
