#include "lazy/training/sharded_folder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "lazy/autograd/backward.hpp"
#include "lazy/core/build.hpp"
#include "lazy/distributed/collectives.hpp"
#include "lazy/ops/creation.hpp"
#include "lazy/training/shards.hpp"
#include "lazy/training/step_names.hpp"
#include "support/config.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace lazy::training {
namespace {

constexpr const char* kFailure = "failed.json";  // why a save is given up, for the ranks that wait

/// Returns the name of a rank's file. `again`: 0, or a number where there are files of that name already.
std::string file_of_rank(int rank, int ranks, uint64_t again, const char* ending) {
  char text[64];
  std::snprintf(text, sizeof text, "%05d-of-%05d", rank + 1, ranks);
  return text + (again ? "." + std::to_string(again) : std::string()) + ending;
}

/// Has what every rank knows be known to all: the largest of each number.
std::vector<int64_t> largest_of_ranks(const std::vector<int64_t>& own, const Site& s) {
  if (distributed::world_size() == 1) return own;
  const no_grad scope;
  return distributed::all_reduce(from_span(own), distributed::ReduceOp::max, {}, s).to_vector<int64_t>(s);
}

/// Writes a small file, which is whole when it has its name.
void write_text(const std::string& path, const std::string& text, bool durable, const Site& s) {
  lazy::detail::NewFile file("save", path, s);
  file.put(text);
  file.finish(durable);
}

std::vector<std::string> names_in_folder(const std::string& folder, const Site& s) {
  return detail::names_in("ShardedFolder", folder, s);
}

/// Returns the step of a checkpoint's folder by its name; -1 for other names.
int64_t step_of(std::string_view name) { return detail::step_of_name(name).value_or(-1); }

}  // namespace

/// Is one save of one rank: all that its thread needs.
struct ShardedFolder::Save {
  std::string folder, path;  // of all checkpoints, and of this one
  int rank = 0, ranks = 1, keep = 1;
  uint64_t id = 0, again = 0;
  double timeout = 0;  // seconds
  Site site;
  NamedTensors own;                      // what this rank writes, computed
  std::map<std::string, int64_t> begin;  // first row of what is only some
  detail::ShardIndex index;              // without pieces
  std::atomic<bool> given_up{false};

  std::string file(int r, const char* ending) const {
    return path + "/" + file_of_rank(r, ranks, again, ending);
  }

  /// Writes this rank's values, and says of which there are.
  detail::RankReport write() const {
    detail::RankReport report;
    report.save = id;
    if (own.empty()) return report;
    for (const auto& [name, x] : own) {
      jit::BufferRef keep_alive;
      const std::string_view bytes = lazy::detail::host_bytes("save", x, site, keep_alive);
      const auto first = begin.find(name);
      const int64_t from = first == begin.end() ? 0 : first->second;
      report.pieces[name] = {file_of_rank(rank, ranks, again, ".safetensors"), from,
                             from + detail::rows_of(x.shape(site)), checksum64(bytes.data(), bytes.size())};
    }
    lazy::detail::write_safetensors("save", file(rank, ".safetensors"), own, {}, true, site);
    return report;
  }

  template <class Found>
  void wait_until(const std::string& what, const Found& found) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout);
    for (auto pause = std::chrono::milliseconds(1); !found();
         pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
      if (given_up) throw IoError("save: " + path + " was given up while it waited for " + what, site);
      if (std::chrono::steady_clock::now() > end)
        throw IoError("save: " + path + ": not in time: " + what, site);
      std::this_thread::sleep_for(pause);
    }
  }

  /// Reads a report of this save, if it is there.
  std::optional<detail::RankReport> report_at(const std::string& file_path) const {
    const auto f = lazy::detail::open_file_if_any("save", file_path, site);
    if (!f) return {};
    detail::RankReport r = detail::read_report(*f);
    if (r.save != id) return {};
    return r;
  }

  /// Waits for all ranks' reports, and makes the folder a checkpoint.
  void commit(detail::RankReport own_report) {
    std::vector<detail::RankReport> reports(static_cast<size_t>(ranks));
    reports[0] = std::move(own_report);
    for (int r = 1; r < ranks; ++r)
      wait_until("rank " + std::to_string(r), [&] {
        const auto found = report_at(file(r, ".json"));
        if (found) reports[static_cast<size_t>(r)] = *found;
        return found.has_value();
      });
    for (int r = 1; r < ranks; ++r)
      if (const std::string& why = reports[static_cast<size_t>(r)].error; !why.empty())
        throw IoError("save: rank " + std::to_string(r) + ": " + why, site);
    for (const detail::RankReport& report : reports)
      for (const auto& [name, piece] : report.pieces) {
        const auto value = index.values.find(name);
        if (value == index.values.end()) throw Error("save: '" + name + "' is not there on all ranks", site);
        if (piece.end > piece.begin) value->second.pieces.push_back(piece);
      }
    for (auto& [name, value] : index.values) {
      std::sort(value.pieces.begin(), value.pieces.end(),
                [](const auto& a, const auto& b) { return a.begin < b.begin; });
      int64_t at = 0;
      for (const detail::Piece& p : value.pieces) {
        if (p.begin != at)
          throw Error("save: of '" + name + "' ranks have row " + std::to_string(std::min(at, p.begin)) +
                          (p.begin < at ? " twice" : " not"),
                      site);
        at = p.end;
      }
      if (at != detail::rows_of(value.shape))
        throw Error("save: of '" + name + "' no rank has row " + std::to_string(at), site);
    }
    write_text(path + "/" + detail::kIndexFile, detail::to_json("save", index, site), true, site);
    tidy();
  }

  /// Removes what is not the checkpoint's, and checkpoints that are too many. Failing that harms nothing.
  void tidy() const try {
    namespace fs = std::filesystem;
    std::error_code ignored;
    std::vector<std::string> used{detail::kIndexFile};
    for (const auto& [name, value] : index.values)
      for (const detail::Piece& p : value.pieces) used.push_back(p.file);
    for (const std::string& name : names_in_folder(path, site))
      if (std::find(used.begin(), used.end(), name) == used.end()) fs::remove(path + "/" + name, ignored);
    std::vector<int64_t> whole;
    for (const std::string& name : names_in_folder(folder, site)) {
      const std::string other = folder + "/" + name;
      const int64_t step = step_of(name);
      if (step < 0 || other == path) continue;
      if (fs::exists(other + "/" + detail::kIndexFile, ignored)) whole.push_back(step);
      else fs::remove_all(other, ignored);  // what a killed program left: this one alone writes here
    }
    std::sort(whole.begin(), whole.end());
    for (size_t i = 0; i + static_cast<size_t>(keep) <= whole.size(); ++i)
      for (const std::string& name : names_in_folder(folder, site))
        if (step_of(name) == whole[i]) {
          fs::remove(folder + "/" + name + "/" + detail::kIndexFile, ignored);  // first: it is none any more
          fs::remove_all(folder + "/" + name, ignored);
        }
  } catch (const std::exception&) {}

  void fail(const std::string& why) const try {
    detail::RankReport report;
    report.save = id, report.error = why;
    const std::string where = rank == 0 ? path + "/" + kFailure : file(rank, ".json");
    write_text(where, detail::to_json("save", report, site), false, site);
  } catch (const std::exception&) {}  // the others find out at their deadline

  void run() {
    try {
      detail::RankReport report = write();
      if (rank == 0) return commit(std::move(report));
      write_text(file(rank, ".json"), detail::to_json("save", report, site), false, site);
    } catch (const std::exception& e) {
      fail(e.what());
      throw;
    }
    own = {};  // what was written need not stay in memory
    wait_until("rank 0", [&] {
      if (const auto failed = report_at(path + "/" + kFailure)) throw IoError(failed->error);
      const auto f = lazy::detail::open_file_if_any("save", path + "/" + detail::kIndexFile, site);
      return f && detail::read_index(*f).save == id;
    });
  }
};

struct ShardedFolder::InFlight {
  std::shared_ptr<Save> save;
  std::thread thread;
  std::exception_ptr failure;  // of the thread, once it has ended
};

ShardedFolder::ShardedFolder(const std::string& folder, ShardedFolderOptions options, Site s)
    : folder_(folder), options_(options), exceptions_(std::uncaught_exceptions()) {
  if (options.keep < 1)
    throw Error("ShardedFolder: it keeps at least one checkpoint, not " + std::to_string(options.keep), s);
  if (options.timeout < 0)
    throw Error("ShardedFolder: a timeout of " + std::to_string(options.timeout) + " seconds", s);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError("ShardedFolder: cannot make " + folder + ": " + error.message(), s);
}

ShardedFolder::~ShardedFolder() {
  if (!in_flight_) return;
  if (std::uncaught_exceptions() > exceptions_) in_flight_->save->given_up = true;
  try {
    wait(in_flight_->save->site);
  } catch (const std::exception& e) { logging::warning(e.what()); }
}

void ShardedFolder::wait(Site) {
  if (!in_flight_) return;
  const std::unique_ptr<InFlight> last = std::move(in_flight_);
  last->thread.join();
  if (last->failure) std::rethrow_exception(last->failure);
}

std::string ShardedFolder::path(int64_t step) const { return folder_ + "/" + detail::name_of_step(step); }

std::vector<int64_t> ShardedFolder::steps(Site s) const {
  std::vector<int64_t> all;
  for (const std::string& name : names_in_folder(folder_, s)) {
    std::error_code ignored;
    if (const int64_t step = step_of(name);
        step >= 0 && std::filesystem::exists(folder_ + "/" + name + "/" + detail::kIndexFile, ignored))
      all.push_back(step);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string ShardedFolder::save(const Checkpoint& c, Site s) {
  if (c.step() < 0) throw Error("save: a step can't be negative: " + std::to_string(c.step()), s);
  auto save = std::make_shared<Save>();
  save->folder = folder_, save->path = path(c.step()), save->site = s, save->keep = options_.keep;
  save->rank = distributed::rank(), save->ranks = distributed::world_size();
  save->timeout = options_.timeout > 0 ? options_.timeout : static_cast<double>(config::get().comm_timeout);
  // All are told what went wrong on one rank before any of them writes: nobody waits for the others then.
  std::exception_ptr failure;
  std::vector<int64_t> plan{0, 0, 0};  // 1 where a rank has failed, `again`, and the save's number
  try {
    wait(s);
    const NamedTensors all = c.whole_values(s);
    std::vector<Tensor> values;
    for (const auto& [name, x] : all) values.push_back(x);
    lazy::detail::eval(values, s);
    save->index.step = c.step(), save->index.ranks = save->ranks, save->index.parts = c.parts_;
    // Whole values go to the rank that has the least so far, large ones first.
    std::vector<const NamedTensors::Entry*> whole;
    for (const NamedTensors::Entry& e : all) {
      save->index.values[e.first] = {e.second.dtype(s), c.shape(e.first, s), {}};
      if (const auto part = c.rows_.find(e.first); part == c.rows_.end()) whole.push_back(&e);
      else save->own.set(e.first, e.second), save->begin[e.first] = part->second.begin;
    }
    std::sort(whole.begin(), whole.end(), [&](const auto* a, const auto* b) {
      const int64_t m = a->second.nbytes(s), n = b->second.nbytes(s);
      return m != n ? m > n : a->first < b->first;
    });
    std::vector<int64_t> bytes(static_cast<size_t>(save->ranks));
    for (const NamedTensors::Entry* e : whole) {
      const auto least = std::min_element(bytes.begin(), bytes.end());
      *least += e->second.nbytes(s);
      if (least - bytes.begin() == save->rank) save->own.set(e->first, e->second);
    }
    if (save->rank == 0) {
      std::error_code error;
      std::filesystem::create_directories(save->path, error);
      if (error) throw IoError("save: cannot make " + save->path + ": " + error.message(), s);
      // Files of a save that was killed, or of a checkpoint that this one replaces, keep their names.
      std::vector<std::string> there = names_in_folder(save->path, s);
      std::filesystem::remove(save->path + "/" + kFailure, error);
      const auto taken = [&](uint64_t again) {
        return std::any_of(there.begin(), there.end(), [&](const std::string& name) {
          const std::string rest = name.substr(std::min(name.find('.'), name.size()));
          if (again) return rest.starts_with("." + std::to_string(again) + ".");
          return name != detail::kIndexFile &&
                 (rest.starts_with(".safetensors") || rest.starts_with(".json"));
        });
      };
      while (taken(save->again)) ++save->again;
      plan[1] = static_cast<int64_t>(save->again);
      plan[2] = static_cast<int64_t>(std::random_device{}()) << 31 | (std::random_device{}() >> 1);
      plan[2] &= INT64_MAX;
    }
  } catch (...) {
    failure = std::current_exception();
    plan[0] = 1;
  }
  plan = largest_of_ranks(plan, s);
  if (failure) std::rethrow_exception(failure);
  if (plan[0]) throw Error("save: another rank could not begin", s);
  save->again = static_cast<uint64_t>(plan[1]), save->id = static_cast<uint64_t>(plan[2]);
  save->index.save = save->id;
  if (!options_.asynchronous) {
    save->run();
    return save->path;
  }
  auto job = std::make_unique<InFlight>();
  job->save = save;
  InFlight* const at = job.get();
  job->thread = std::thread([at, save] {
    try {
      save->run();
    } catch (...) { at->failure = std::current_exception(); }
    save->own = {};
  });
  in_flight_ = std::move(job);
  return save->path;
}

std::optional<Checkpoint> ShardedFolder::newest(Site s) {
  wait(s);
  std::vector<int64_t> all;
  if (distributed::is_main_process()) all = steps(s);
  for (;;) {
    const int64_t step = largest_of_ranks({all.empty() ? -1 : all.back()}, s)[0];
    if (step < 0) return {};
    if (!all.empty()) all.pop_back();
    std::shared_ptr<const detail::Shards> shards;
    std::exception_ptr unreadable;
    int64_t state = 0;  // 1: it is not whole; 2: it can't be read, which says nothing about its contents
    std::string why;
    try {
      shards = std::make_shared<const detail::Shards>("newest", path(step), s);
      const std::vector<std::string> files = shards->files();
      for (size_t i = static_cast<size_t>(distributed::rank()); i < files.size();
           i += static_cast<size_t>(distributed::world_size()))
        shards->verify("newest", files[i], s);
    } catch (const lazy::detail::ReadError&) {
      unreadable = std::current_exception(), state = 2;
    } catch (const Error& e) { state = 1, why = e.what(); }
    if (state == 1) logging::warning("passes over a checkpoint: " + why);
    state = largest_of_ranks({state}, s)[0];
    if (unreadable) std::rethrow_exception(unreadable);
    if (state == 2) throw IoError("newest: another rank can't read " + path(step), s);
    if (state == 0) return Checkpoint::of(std::move(shards));
  }
}

}  // namespace lazy::training
