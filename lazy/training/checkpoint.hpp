// Declares checkpoints: all that is needed to go on with training as if it had never stopped, in one file.
//
//   training::CheckpointFolder folder("run/checkpoints", {.keep = 3});
//   int64_t step = 0;
//   if (const auto last = folder.newest()) {
//     last->restore("model", model).restore("optimizer", optimizer).restore("loader",
//     loader).restore("draws", g); step = last->step();
//   }
//   ...
//   folder.save(training::Checkpoint(step).add("model", model).add("optimizer", optimizer)
//                   .add("loader", loader).add("draws", g));
//
// A file is written beside its place, brought to the disk, and only then gets its name: a program that is
// killed at any moment, or a machine that loses power, leaves whole files.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazy/data/loader.hpp"
#include "lazy/io/safetensors.hpp"

namespace lazy::detail {
struct FileBytes;
}

namespace lazy::training {

namespace detail {
class Shards;
struct ShardIndex;
}  // namespace detail

/// Holds rows of a value that is shared out among ranks along its first axis.
struct TensorRows {
  Tensor rows;
  int64_t begin = 0;  // the first one's place in the whole
  int64_t total = 0;  // rows of the whole
};
using NamedRows = std::vector<std::pair<std::string, TensorRows>>;

/// Accepts modules, optimizers, schedules: what gives its state as tensors under names.
template <class T>
concept HasStateDict = requires(const T& x) {
  { x.state_dict() } -> std::convertible_to<NamedTensors>;
};
template <class T>
concept HasLoaderState = requires(const T& x) {
  { x.state() } -> std::convertible_to<data::LoaderState>;
};

/// Holds named parts, each one or several tensors, and texts. Tensors share the values of the moment when
/// they were added.
class Checkpoint {
 public:
  explicit Checkpoint(int64_t step = 0) : step_(step) {}
  int64_t step() const noexcept { return step_; }

  // Add a part. Error for a name that is there already, is empty, or has a slash.

  Checkpoint& add(const std::string& name, const Tensor& x, Site s = Site::current());
  Checkpoint& add(const std::string& name, const NamedTensors& tensors, Site s = Site::current());
  Checkpoint& add(const std::string& name, const Generator& g, Site s = Site::current());
  Checkpoint& add(const std::string& name, const data::LoaderState& state, Site s = Site::current()) {
    return add(name, state.to_tensor(), s);
  }
  template <HasLoaderState L>
  Checkpoint& add(const std::string& name, const L& loader, Site s = Site::current()) {
    return add(name, data::LoaderState(loader.state()), s);
  }
  template <HasStateDict T>
  Checkpoint& add(const std::string& name, const T& x, Site s = Site::current()) {
    if constexpr (requires { x.state_dict(s); }) return add(name, NamedTensors(x.state_dict(s)), s);
    else return add(name, NamedTensors(x.state_dict()), s);
  }
  /// Adds values of which this rank has some rows: ShardedFolder writes them with those of other ranks, which
  /// add rows of the same names. ShapeError for a value without axes, IndexError for rows beyond the whole.
  Checkpoint& add_rows(const std::string& name, const TensorRows& rows, Site s = Site::current());
  Checkpoint& add_rows(const std::string& name, const NamedRows& rows, Site s = Site::current());
  Checkpoint& add_text(const std::string& name, const std::string& text, Site s = Site::current());

  // Read a part, or give it to what it came from. IndexError if there is none of that name; else what
  // load_state_dict() throws.

  bool contains(const std::string& name) const;
  Tensor tensor(const std::string& name, Site s = Site::current()) const;
  NamedTensors tensors(const std::string& name, Site s = Site::current()) const;
  std::string text(const std::string& name, Site s = Site::current()) const;
  /// Return some rows of a value, and the shape of the whole: "part", or "part/name" for one of several. Of
  /// what ranks have written nothing else is read. IndexError for rows that there are not.
  Tensor rows(const std::string& name, int64_t begin, int64_t end, Site s = Site::current()) const;
  Shape shape(const std::string& name, Site s = Site::current()) const;
  const Checkpoint& restore(const std::string& name, Generator& g, Site s = Site::current()) const;
  template <HasLoaderState L>
  const Checkpoint& restore(const std::string& name, L& loader, Site s = Site::current()) const {
    loader.load_state(data::LoaderState::from_tensor(tensor(name, s), s));
    return *this;
  }
  template <HasStateDict T>
  const Checkpoint& restore(const std::string& name, T& x, Site s = Site::current()) const {
    const NamedTensors state = tensors(name, s);
    if constexpr (requires { x.load_state_dict(state, true, s); }) x.load_state_dict(state, true, s);
    else if constexpr (requires { x.load_state_dict(state, s); }) x.load_state_dict(state, s);
    else x.load_state_dict(state);
    return *this;
  }

  /// Writes the file, as CheckpointFolder does. Evaluates; IoError. Error for rows, of which others have the
  /// rest.
  void save(const std::string& path, Site s = Site::current()) const;
  /// Reads a file that save() wrote, or the folder of one that ranks wrote, of which values are read when
  /// they are asked for: tensors are copies. IoError for one that is not whole, or damaged: all that is in it
  /// has a checksum (in older files the tensors alone).
  static Checkpoint load(const std::string& path, Site s = Site::current());

 private:
  friend class CheckpointFolder;
  friend class ShardedFolder;
  static Checkpoint read(const lazy::detail::FileBytes&, const Site&);
  static Checkpoint of(std::shared_ptr<const detail::Shards>);
  void check_new(const std::string& name, const Site&) const;
  void set_rows(const std::string& name, const TensorRows&);
  NamedTensors whole_values(const Site&) const;
  struct Place {
    int64_t begin, total;  // rows
  };

  int64_t step_;
  NamedTensors all_;                              // "part" of one tensor, "part/name" of several
  std::map<std::string, std::string> parts_;      // "tensor", "tensors" or "text:..." by part
  std::map<std::string, Place> rows_;             // of the values of which all_ has some rows
  std::shared_ptr<const detail::Shards> shards_;  // where values are that all_ has not; null: none
};

struct FolderOptions {
  int keep = 3;  // files that remain, the newest ones; at least 1
};

/// Keeps the last checkpoints in a folder, one file a step, under names that sort by step. One program writes
/// to it.
class CheckpointFolder {
 public:
  /// Makes the folder, and removes what a program that was killed left unfinished. IoError.
  explicit CheckpointFolder(const std::string& folder, FolderOptions options = {}, Site s = Site::current());
  /// Writes the file, then removes those that are too many. Returns its path. One of the same step is
  /// replaced.
  std::string save(const Checkpoint&, Site s = Site::current()) const;
  /// Returns the newest checkpoint that is whole; none if there is none. Says on standard error which are
  /// not. IoError for a file that is there and can't be read: its contents may be whole.
  std::optional<Checkpoint> newest(Site s = Site::current()) const;
  /// Returns the steps of which there are files, ascending.
  std::vector<int64_t> steps(Site s = Site::current()) const;
  std::string path(int64_t step) const;

 private:
  std::string folder_;
  FolderOptions options_;
};

}  // namespace lazy::training
