#include "lazy/io/file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "lazy/core/build.hpp"
#include "lazy/ops/creation.hpp"

namespace lazy::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they are in memory");

std::string text_of(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot(const char* op, const char* do_what, const std::string& path, const std::string& why,
                         const Site& s) {
  throw IoError(std::string(op) + ": cannot " + do_what + " " + path + ": " + why, s);
}

/// Closes a descriptor at the end of a scope.
struct Closing {
  int fd;
  ~Closing() { ::close(fd); }
};

/// Reads to the end what has no size.
std::shared_ptr<const std::string> read_to_end(int fd) {
  auto all = std::make_shared<std::string>();
  for (char block[1 << 16];;) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return nullptr;
    if (n == 0) return all;
    all->append(block, static_cast<size_t>(n));
  }
}

/// Calls `f` with an unsigned integer of `size` bytes.
template <class F>
void with_word(size_t size, F&& f) {
  if (size == 1) f(uint8_t{});
  else if (size == 2) f(uint16_t{});
  else if (size == 4) f(uint32_t{});
  else f(uint64_t{});
}

template <class T>
T swapped_bytes(T v) {
  if constexpr (sizeof v == 1) return v;
  else if constexpr (sizeof v == 2) return __builtin_bswap16(v);
  else if constexpr (sizeof v == 4) return __builtin_bswap32(v);
  else return __builtin_bswap64(v);
}

bool has_other_bools(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<uint8_t>(c) > 1; });
}

void make_bools(char* at, size_t count) {
  std::transform(at, at + count, at, [](char c) { return static_cast<char>(c != 0); });
}

}  // namespace

void FileBytes::bad(uint64_t offset, const std::string& what) const { fail<IoError>(offset, what); }

void FileBytes::too_short(uint64_t offset, uint64_t count, const char* what) const {
  bad(std::min<uint64_t>(offset, bytes.size()),
      "expected " + std::to_string(count) + " bytes of " + what + ", but the file has " +
          std::to_string(bytes.size() - std::min<uint64_t>(offset, bytes.size())));
}

FileBytes open_file(const char* op, const std::string& path, const Site& s) {
  const int fd = files::open(path.c_str(), O_RDONLY);
  if (fd < 0) cannot(op, "open", path, text_of(errno), s);
  const Closing closing{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) cannot(op, "read", path, text_of(errno), s);
  if (S_ISDIR(status.st_mode)) cannot(op, "read", path, text_of(EISDIR), s);
  const auto size = static_cast<size_t>(status.st_size);
  if (S_ISREG(status.st_mode) && size > 0) {
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) cannot(op, "map", path, text_of(errno), s);
    std::shared_ptr<const void> owner(at, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    return {op, path, s, {static_cast<const char*>(at), size}, std::move(owner)};
  }
  const auto all = read_to_end(fd);
  if (!all) cannot(op, "read", path, text_of(errno), s);
  return {op, path, s, *all, all};
}

Tensor shared_value(const FileBytes& f, uint64_t offset, DType t, const Shape& shape,
                    const MaybeDevice& device) {
  const std::string_view bytes = f.bytes.substr(offset, static_cast<size_t>(numel(shape)) * size_of(t));
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size_of(t) == 0;
  if (!f.owner || !aligned || (t == bool_ && has_other_bools(bytes)))
    return copied_value(f, offset, t, shape, false, false, device);
  return from_blob(
      const_cast<char*>(bytes.data()), ShapeArg(shape), t, {}, [owner = f.owner](void*) {}, device, f.site);
}

Tensor copied_value(const FileBytes& f, uint64_t offset, DType t, const Shape& shape, bool columns_first,
                    bool swapped, const MaybeDevice& device) {
  const auto count = static_cast<size_t>(numel(shape));
  const std::string_view bytes = f.bytes.substr(offset, count * size_of(t));
  const bool bools = t == bool_ && has_other_bools(bytes);
  if (!columns_first && !swapped && !bools)
    return from_elements(f.op, bytes.data(), count, shape, t, t, device, f.site);
  const std::shared_ptr<char[]> own(new char[bytes.size() + 1]);
  std::copy(bytes.begin(), bytes.end(), own.get());
  if (bools) make_bools(own.get(), count);
  if (swapped)
    with_word(size_of(t), [&](auto word) {
      for (size_t i = 0; i < count; ++i) {
        char* const at = own.get() + i * sizeof word;
        std::memcpy(&word, at, sizeof word);
        word = swapped_bytes(word);
        std::memcpy(at, &word, sizeof word);
      }
    });
  if (!columns_first) return from_elements(f.op, own.get(), count, shape, t, t, device, f.site);
  std::vector<int64_t> strides;
  for (int64_t step = 1; const int64_t extent : shape) {
    strides.push_back(step);
    step *= std::max<int64_t>(extent, 1);
  }
  return from_blob(
      own.get(), ShapeArg(shape), t, std::move(strides), [own](void*) {}, device, f.site);
}

uint64_t checked_bytes(const FileBytes& f, uint64_t offset, std::span<const int64_t> shape, DType t) {
  if (shape.size() > kMaxRank)
    f.fail<ShapeError>(offset, "a tensor has at most " + std::to_string(kMaxRank) + " dimensions, not " +
                                   std::to_string(shape.size()));
  const Shape all{shape};
  for (const int64_t extent : all)
    if (extent < 0) f.bad(offset, "an extent can't be negative: " + to_string(all));
  if (!countable(all)) f.fail<ShapeError>(offset, "more elements than can be addressed: " + to_string(all));
  return static_cast<uint64_t>(numel(all)) * size_of(t);
}

std::string_view host_bytes(const char* op, const Tensor& x, const Site& s, jit::BufferRef& keep) {
  if (!x.defined()) throw_empty(op, s);
  const auto count = static_cast<size_t>(x.size(s)) * size_of(x.dtype(s));
  if (count == 0) return {};
  return {static_cast<const char*>(jit::contiguous_data(x.handle(), jit::Cause::data, s, keep)), count};
}

namespace {

/// Returns the path of the file that a symbolic link leads to, if it exists; else the path.
std::string followed(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

/// Returns the name of a file beside `place` that nobody else writes; empty if the place itself is to be
/// written.
std::string beside(const std::string& place) {
  static constinit std::atomic<uint32_t> next{0};
  struct stat status {};
  if (::stat(place.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return {};
  return place + ".part-" + std::to_string(::getpid()) + "-" +
         std::to_string(next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

NewFile::NewFile(const char* op, const std::string& path, const Site& s)
    : op_(op),
      path_(path),
      site_(s),
      place_(followed(path)),
      beside_(beside(place_)),
      out_(beside_.empty() ? place_ : beside_) {
  if (!out_.is_open()) {
    const int error = errno;
    beside_.clear();
    fail(error);
  }
  struct stat old {};
  if (!beside_.empty() && ::stat(place_.c_str(), &old) == 0) (void)::fchmod(out_.fd(), old.st_mode & 07777);
}

NewFile::~NewFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void NewFile::fail(int error) { cannot(op_, "write", path_, text_of(error), site_); }

void NewFile::put(std::string_view bytes) {
  constexpr size_t kBlock = size_t{1} << 20;
  written_ += bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kBlock, bytes.size())))
    out_.put(bytes.data(), std::min(kBlock, bytes.size()));
}

void NewFile::finish(bool durable) {
  if (durable) {
    out_.flush();
    if (::fsync(out_.fd()) != 0 && errno != EINVAL && errno != EROFS) fail(errno);  // a pipe has no disk
  }
  if (!out_.close()) fail(errno);
  if (beside_.empty()) return;
  if (::rename(beside_.c_str(), place_.c_str()) != 0) fail(errno);
  beside_.clear();
  if (durable) sync_folder();
}

void NewFile::sync_folder() {
  const size_t slash = place_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : place_.substr(0, slash);
  const int fd = files::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) fail(errno);
  const Closing closing{fd};
  if (::fsync(fd) != 0 && errno != EINVAL) fail(errno);
}

}  // namespace lazy::detail
