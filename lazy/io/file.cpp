#include "lazy/io/file.hpp"
#include "lazy/core/planes.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

#include "jit/backend/registry.hpp"
#include "jit/graph/record.hpp"
#include "lazy/core/build.hpp"
#include "lazy/core/unchanging.hpp"
#include "lazy/io/reopened.hpp"
#include "lazy/ops/creation.hpp"
#include "support/file_pages.hpp"

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
  ~Closing() {
    if (fd >= 0) ::close(fd);
  }
};

/// Reads to the end what has no size, or all that a file of this size has.
std::shared_ptr<const std::string> read_to_end(int fd, size_t size) try {
  constexpr size_t kBlock = size_t{64} << 10;
  auto all = std::make_shared<std::string>();
  for (size_t at = 0;;) {
    all->resize(at + (size > at ? size - at : kBlock));
    const ssize_t n = ::read(fd, all->data() + at, all->size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return nullptr;
    at += static_cast<size_t>(n);
    if (n == 0 || at == size) return all->resize(at), all;
  }
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return nullptr;
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

UnreadFile::UnreadFile(int fd, size_t size) : fd_(fd), size_(size) {
  void* const at = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  begin_ = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

UnreadFile::~UnreadFile() {
  const int error = errno;
  if (begin_) ::munmap(begin_, size_);
  ::close(fd_);
  errno = error;
}

bool UnreadFile::bring(std::string_view part) const {
  if (part.empty()) return true;
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(part.data()), first = begin / kPage * kPage;
  if (::mprotect(reinterpret_cast<void*>(first), begin + part.size() - first, PROT_READ | PROT_WRITE) != 0)
    return false;
  return read(part, const_cast<char*>(part.data()));
}

bool UnreadFile::read(std::string_view part, char* to) const {
  return files::read_at(fd_, to, part.size(), static_cast<uint64_t>(part.data() - begin_));
}

void FileBytes::not_read(uint64_t offset) const {
  if (errno == ENODATA) bad(offset, "the file has become shorter while it was read");
  throw ReadError(std::string(op) + ": cannot read " + name + ": " + text_of(errno), site);
}

void FileBytes::bring(uint64_t offset, uint64_t count) const {
  if (!unread->bring(bytes.substr(offset, count))) not_read(offset);
}

void FileBytes::copy_to(char* to, uint64_t offset, uint64_t count) const {
  const std::string_view from = bytes.substr(offset, count);
  if (!unread) std::copy(from.begin(), from.end(), to);
  else if (!unread->read(from, to)) not_read(offset);
}

FileBytes FileBytes::in_memory() const {
  if (!unread) return *this;
  const std::shared_ptr<char[]> own(new char[bytes.size() + 1]);
  copy_to(own.get(), 0, bytes.size());
  return {op, name, site, {own.get(), bytes.size()}, own};
}

FileBytes open_file(const char* op, const std::string& path, const Site& s, Access access) {
  if (std::optional<FileBytes> f = open_file_if_any(op, path, s, access)) return *std::move(f);
  cannot(op, "open", path, text_of(ENOENT), s);
}

std::optional<FileBytes> open_file_if_any(const char* op, const std::string& path, const Site& s,
                                          Access access) {
  Closing open{files::open(path.c_str(), O_RDONLY)};
  if (open.fd < 0 && errno == ENOENT) return {};
  if (open.fd < 0) cannot(op, "open", path, text_of(errno), s);
  struct stat status {};
  if (::fstat(open.fd, &status) != 0) cannot(op, "read", path, text_of(errno), s);
  if (S_ISDIR(status.st_mode)) cannot(op, "read", path, text_of(EISDIR), s);
  const size_t size = S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) : 0;
  note_opened(op, path, size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, s);
  if (size > 0 && access == Access::mapped) {
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, open.fd, 0);
    if (at == MAP_FAILED) cannot(op, "map", path, text_of(errno), s);
    std::shared_ptr<const void> owner(at, [size](const void* p) {
      file_pages::remove(p);
      ::munmap(const_cast<void*>(p), size);
    });
    file_pages::add(at, size);
    return FileBytes{op, path, s, {static_cast<const char*>(at), size}, std::move(owner), nullptr, true};
  }
  if (size > 0 && access == Access::parts) {
    const auto file = std::make_shared<const UnreadFile>(std::exchange(open.fd, -1), size);
    if (!file->usable()) cannot(op, "read", path, text_of(errno), s);
    return FileBytes{op, path, s, file->bytes(), file, file};
  }
  const auto all = read_to_end(open.fd, size);
  if (!all) cannot(op, "read", path, text_of(errno), s);
  return FileBytes{op, path, s, *all, all};
}

Tensor shared_value(const FileBytes& f, uint64_t offset, DType t, const Shape& shape,
                    const MaybeDevice& device) {
  const std::string_view bytes = f.bytes.substr(offset, static_cast<size_t>(numel(shape)) * size_of(t));
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % size_of(plane_type(t)) == 0;
  if (!f.owner || f.unread || !aligned || (t == bool_ && has_other_bools(bytes)))
    return copied_value(f, offset, t, shape, false, false, device);
  const Tensor value = from_blob(
      const_cast<char*>(bytes.data()), ShapeArg(shape), t, {}, [owner = f.owner](void*) {}, device, f.site);
  if (value.device(f.site) == Device{}) mark_unchanging(value, f.site);
  return value;
}

void forget_pages(const FileBytes& f, uint64_t offset, uint64_t count) {
  if (f.mapped) file_pages::give_back(f.bytes.data() + offset, count);
}

Tensor copied_value(const FileBytes& f, uint64_t offset, DType t, const Shape& shape, bool columns_first,
                    bool swapped, const MaybeDevice& device) {
  const auto count = static_cast<size_t>(numel(shape));
  const uint64_t bytes = count * size_of(t);
  if (!columns_first && !swapped && t != bool_) {
    if (!f.unread) return from_elements(f.op, f.bytes.data() + offset, count, shape, t, t, device, f.site);
    if (is_complex(t)) {
      std::vector<char> all(bytes);
      f.copy_to(all.data(), offset, bytes);
      return from_elements(f.op, all.data(), count, shape, t, t, device, f.site);
    }
    return Tensor(jit::from_pieces([&](char* to, uint64_t at, uint64_t n) { f.copy_to(to, offset + at, n); },
                                   t, shape, device.given ? device.value : jit::default_device(f.site),
                                   f.site));
  }
  const std::shared_ptr<char[]> own(new char[bytes + 1]);
  f.copy_to(own.get(), offset, bytes);
  if (t == bool_) make_bools(own.get(), count);
  if (swapped)
    with_word(size_of(plane_type(t)), [&](auto word) {
      for (size_t i = 0; i < count * size_of(t) / sizeof word; ++i) {
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
  const Arg value(x, s);
  const jit::Handle& h = value.handle();
  const auto count = static_cast<size_t>(numel(h->shape)) * size_of(h->dtype);
  if (count == 0) return {};
  if (is_complex(h->dtype))
    return {static_cast<const char*>(packed_pairs(h, jit::Cause::data, s, keep)), count};
  return {static_cast<const char*>(jit::contiguous_data(h, jit::Cause::data, s, keep)), count};
}

std::string unfinished_suffix() {
  char host[256] = {};
  (void)::gethostname(host, sizeof host - 1);
  return std::string(".part-") + host + "-" + std::to_string(::getpid()) + "-";
}

namespace {

/// Returns the name of a file beside `place` that nobody else writes; empty if the place itself is to be
/// written.
std::string beside(const std::string& place) {
  static constinit std::atomic<uint32_t> next{0};
  struct stat status {};
  if (::stat(place.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return {};
  return place + unfinished_suffix() + std::to_string(next.fetch_add(1, std::memory_order_relaxed));
}

/// Returns the path of the folder in which a file is.
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Returns a path by which the file of a descriptor can be given a name.
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

files::Output NewFile::opened() {
  if (beside_.empty()) return files::Output(place_);
  const int fd = files::open(folder_of(place_).c_str(), O_TMPFILE | O_WRONLY, 0666);
  if (fd >= 0 && ::access(path_of(fd).c_str(), F_OK) == 0) {
    named_ = false;
    return files::Output(fd);
  }
  if (fd >= 0) ::close(fd);
  return files::Output(beside_);
}

void NewFile::give_name() {
  if (named_) return;
  const auto link = [&] {
    return ::linkat(AT_FDCWD, path_of(out_.fd()).c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  // Who had this process's number may have left one.
  if (!link() && (errno != EEXIST || ::unlink(beside_.c_str()) != 0 || !link())) fail(errno);
  named_ = true;
}

NewFile::NewFile(const char* op, const std::string& path, const Site& s)
    : op_(op), path_(path), site_(s), place_(files::followed(path)), beside_(beside(place_)), out_(opened()) {
  if (!out_.is_open()) {
    const int error = errno;
    beside_.clear();
    fail(error);
  }
  struct stat old {};
  if (!beside_.empty() && ::stat(place_.c_str(), &old) == 0) (void)::fchmod(out_.fd(), old.st_mode & 07777);
}

NewFile::~NewFile() {
  if (named_ && !beside_.empty()) ::unlink(beside_.c_str());
}

void NewFile::fail(int error) { cannot(op_, "write", path_, text_of(error), site_); }

void NewFile::put(std::string_view bytes) {
  constexpr size_t kBlock = size_t{1} << 20;
  written_ += bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kBlock, bytes.size())))
    out_.put(bytes.data(), std::min(kBlock, bytes.size()));
}

void NewFile::finish(bool durable) {
  out_.flush();
  if (durable) {
    if (::fsync(out_.fd()) != 0 && errno != EINVAL && errno != EROFS) fail(errno);  // a pipe has no disk
  }
  if (!beside_.empty()) give_name();
  if (!out_.close()) fail(errno);
  if (beside_.empty()) return;
  if (::rename(beside_.c_str(), place_.c_str()) != 0) fail(errno);
  beside_.clear();
  if (durable) sync_folder();
}

void NewFile::sync_folder() {
  const int fd = files::open(folder_of(place_).c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) fail(errno);
  const Closing closing{fd};
  if (::fsync(fd) != 0 && errno != EINVAL) fail(errno);
}

}  // namespace lazy::detail
