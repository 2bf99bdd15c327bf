// Declares executable memory: private to the process, also after a fork, and never writable and executable at
// once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lazy::cpu_backend {

class KernelWriter;

/// Owns one kernel's code, whose memory is released with this object.
class Code {
 public:
  using Entry = void (*)(uint64_t* args);
  Code() = default;
  Code(Code&& o) noexcept : entry_(std::exchange(o.entry_, nullptr)), size_(o.size_), room_(o.room_) {}
  Code& operator=(Code&& o) noexcept {
    std::swap(entry_, o.entry_);
    std::swap(size_, o.size_);
    std::swap(room_, o.room_);
    return *this;
  }
  ~Code();

  Entry entry() const { return entry_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(entry_), size_}; }

 private:
  friend Code publish(std::string_view, const std::string& name, const std::string& at);
  Entry entry_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;  // bytes, with what follows the code
};

/// Moves what was written to executable memory, and announces it to profilers and debuggers (code_info.hpp)
/// as a kernel with this name that comes from the line `at`. Throws CompileError when there is no memory.
Code publish(KernelWriter&, const std::string& name, const std::string& at);
/// Does the same with a kernel's bytes() from another process: code is position independent and holds no
/// address.
Code publish(std::string_view bytes, const std::string& name, const std::string& at);

}  // namespace lazy::cpu_backend
