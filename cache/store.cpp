#include "cache/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

#include "cache/private_directory.hpp"
#include "support/files.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace lazy::cache {
namespace {

// With more packs than this the store is read in part: each pack costs an open file.
constexpr size_t kMostPacks = 64;
constexpr size_t kShownPath = 200;  // characters of a path that messages show

}  // namespace

bool is_pack(std::string_view name) { return name.ends_with(".pack"); }
bool is_temporary(std::string_view name) { return name.starts_with("tmp-"); }

uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

std::string new_name(const char* prefix, const char* suffix) {
  uint64_t r = 0;
  if (getrandom(&r, sizeof r, 0) != sizeof r) r = now() ^ static_cast<uint64_t>(getpid()) << 40;
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(r));
  return std::string(prefix) + text + suffix;
}

Store::Store(Options o) : options_(std::move(o)), writing_(options_.writable) {}

Store::~Store() { close(); }

bool Store::open_directory() {
  if (options_.directory.empty()) {
    problem_ = "no folder for the cache: neither LAZY_CACHE_DIR nor HOME is set";
    return false;
  }
  DirectoryResult r = open_private_directory(options_.directory, options_.writable);
  folder_ = std::move(r.fd);
  problem_ = r.problem;
  if (folder_) return true;
  if (r.refused) {
    logging::warning(problem_ + "; it is not used");
  } else if (options_.asked_for && options_.writable) {
    logging::warning(problem_);
  } else if (logging::enabled(logging::Channel::cache)) {
    logging::write(logging::Channel::cache, problem_);
  }
  return false;
}

bool Store::ready() {
  if (state_ == State::unopened) {
    state_ = open_directory() ? State::open : State::absent;
    if (state_ == State::open) refresh();
  }
  return state_ == State::open;
}

std::string Store::problem() {
  const std::lock_guard hold(mutex_);
  ready();
  return problem_;
}

void Store::list() {
  std::vector<std::string> names = names_in(folder_.get());
  strays_ = strays_ || std::any_of(names.begin(), names.end(), is_temporary);
  std::erase_if(names, [](const std::string& n) { return !is_pack(n); });
  const auto listed = [&](const std::string& n) {
    return std::find(names.begin(), names.end(), n) != names.end();
  };
  std::erase_if(packs_, [&](const PackRef& p) { return p != own_ && !listed(p->name()); });
  std::erase_if(ignored_, [&](const std::string& n) { return !listed(n); });
  for (const std::string& name : names) {
    if (packs_.size() >= kMostPacks) break;
    if (std::any_of(packs_.begin(), packs_.end(), [&](const PackRef& p) { return p->name() == name; }) ||
        std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end())
      continue;
    // Opened for writing too: stamps are the one thing that other processes than the owner write into a pack.
    Fd file(files::open_at(folder_.get(), name.c_str(),
                           (options_.writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK));
    if (!file && (errno == EROFS || errno == EACCES))
      file = Fd(files::open_at(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    std::string why;
    if (file) {
      if (auto p = Pack::open(std::move(file), name, true, why)) {
        packs_.push_back(std::move(p));
        continue;
      }
    } else if (errno == ENOENT) {  // merged into another pack since it was listed
      continue;
    } else {
      why = errno == ELOOP ? "is a symbolic link" : std::strerror(errno);
    }
    if (why == Pack::kCutShort) {  // its owner is only just making it, so it is looked at again
      listed_at_[0] = -1;
      continue;
    }
    ignored_.push_back(name);
    const std::string text = "cache file " + text::one_line(options_.directory + "/" + name, kShownPath) +
                             " " + why + "; it is not used";
    if (why != Pack::kOtherVersion) logging::warning(text);
    else if (logging::enabled(logging::Channel::cache)) logging::write(logging::Channel::cache, text);
  }
}

void Store::refresh() {
  struct stat s {};
  if (fstat(folder_.get(), &s) != 0) return;
  if (s.st_mtim.tv_sec != listed_at_[0] || s.st_mtim.tv_nsec != listed_at_[1]) {
    listed_at_[0] = s.st_mtim.tv_sec;
    listed_at_[1] = s.st_mtim.tv_nsec;
    list();
  }
  for (const PackRef& p : packs_)
    if (p != own_ && !p->sealed()) p->scan();
}

void Store::places(const KeyView& key, std::vector<Place>& found) const {
  for (const PackRef& p : packs_) {
    const auto [first, last] = p->with_hash(key.hash());
    for (auto e = first; e != last; ++e) found.push_back({p, *e});
  }
}

std::vector<Record> Store::find(const KeyView& key) {
  std::vector<Place> candidates;
  {
    const std::lock_guard hold(mutex_);
    if (!ready()) return {};
    places(key, candidates);
    if (candidates.empty()) {
      refresh();
      places(key, candidates);
    }
  }
  std::vector<Record> found;
  const std::string_view wanted(reinterpret_cast<const char*>(key.bytes().data()), key.size());
  Record r;
  for (const Place& c : candidates) {
    if (std::any_of(found.begin(), found.end(),
                    [&](const Record& f) { return f.header.label == c.entry.label; }))
      continue;
    const Read read = c.pack->read(c.entry, r);
    if (read != Read::good) {
      if (logging::enabled(logging::Channel::cache))
        logging::print(logging::Channel::cache, "%s/%s: a record %s", options_.directory.c_str(),
                       c.pack->name().c_str(), read == Read::damaged ? "is damaged" : "could not be read");
      continue;
    }
    if (r.key() != wanted) continue;
    found.push_back(std::move(r));
    if (options_.writable) {
      const std::lock_guard hold(mutex_);
      used_.push_back({c, now()});
      if (used_.size() >= 1024) write_stamps();
    }
  }
  return found;
}

void Store::write_stamps() {
  for (const Use& u : used_) u.place.pack->stamp(u.place.entry, u.when);
  used_.clear();
}

void Store::cannot_write(const char* what, int error) {
  writing_ = false;
  const std::string text = "cache folder " + text::one_line(options_.directory, kShownPath) + ": " + what +
                           ": " + std::strerror(error) + "; programs compiled from now on are not kept";
  if (!warned_) logging::warning(text);
  warned_ = true;
}

bool Store::own_pack() {
  if (own_ && owner_ == getpid()) return true;
  own_ = nullptr;  // the parent process goes on with it
  tend();
  for (int attempt = 0;; ++attempt) {
    const std::string name = new_name("w-", ".pack");
    Fd file(files::open_at(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (!file) {
      const int e = errno;
      // The folder itself was deleted, so a new one is made.
      if (e == ENOENT && attempt == 0 && open_directory()) continue;
      return cannot_write("a file could not be made", e), false;
    }
    // A merge may have found the file without an owner just now, and have removed it.
    struct stat s {};
    if (flock(file.get(), LOCK_EX) != 0 || fstat(file.get(), &s) != 0) {
      const int e = errno;
      unlinkat(folder_.get(), name.c_str(), 0);
      return cannot_write("a file could not be locked", e), false;
    }
    if (s.st_nlink == 0 && attempt < 8) continue;
    own_ = Pack::create(std::move(file), name);
    if (!own_) {
      const int e = errno;
      unlinkat(folder_.get(), name.c_str(), 0);
      return cannot_write("a file could not be written", e), false;
    }
    owner_ = getpid();
    packs_.push_back(own_);
    return true;
  }
}

bool Store::has(std::string_view key, const IndexEntry& wanted) const {
  Record r;
  for (const PackRef& p : packs_) {
    const auto [first, last] = p->with_hash(wanted.hash);
    for (auto e = first; e != last; ++e)
      if (e->label == wanted.label && p->read(*e, r) == Read::good && r.key() == key) return true;
  }
  return false;
}

bool Store::add(const KeyView& key, uint64_t label, std::string_view value) {
  const std::lock_guard hold(mutex_);
  if (!writing_ || !ready()) return false;
  const std::string_view bytes(reinterpret_cast<const char*>(key.bytes().data()), key.size());
  if (bytes.size() + value.size() > options_.max_bytes / 4 || bytes.size() >= RecordHeader::kLongest ||
      value.size() >= RecordHeader::kLongest)
    return false;
  refresh();
  if (has(bytes, {key.hash(), label, 0, 0})) return true;
  if (!own_pack()) return false;
  const std::string record = make_record(key.hash(), bytes, label, value, now());
  if (!own_->append(record, {key.hash(), label, 0, record.size()})) {
    cannot_write("a record could not be written", errno);
    return false;
  }
  // A pack that is a large part of the total is sealed, so that it can be merged.
  if (own_->bytes() > options_.max_bytes / 4) seal_own();
  return true;
}

void Store::seal_own() {
  if (!own_) return;
  if (owner_ == getpid()) {
    own_->seal();
    flock(own_->fd(), LOCK_UN);
  }
  own_ = nullptr;
}

void Store::close() {
  const std::lock_guard hold(mutex_);
  if (state_ == State::open && options_.writable) {
    write_stamps();
    const bool wrote = own_ != nullptr && owner_ == getpid();
    seal_own();
    if (wrote || strays_) tend();
  }
  writing_ = false;
}

}  // namespace lazy::cache
