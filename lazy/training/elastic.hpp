// Goes on after ranks have failed, or hosts have come: with lazy-launch's --min, --max or --max-restarts.
//
//   int main() {
//     return training::run_elastic([] {
//       training::Accelerator accelerator;
//       ...                                                   // model, optimizer, loader
//       accelerator.prepare(model, optimizer);
//       training::ElasticState state(accelerator, "run/state");
//       state.on_reset([&] { optimizer.set_lr(base * accelerator.num_processes()); });
//       for (int64_t step = state.restore(); step < steps;) {  // the last commit, on however many ranks
//         ...
//         if (++step % 100 == 0) state.commit(step);
//       }
//     });
//   }
//
// A generation is a world of processes: when one of them fails the launcher ends the others, and begins the
// next one, which goes on from the last commit. What was computed since is computed again.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "lazy/training/accelerator.hpp"
#include "support/error.hpp"

namespace lazy::training {

/// Is thrown by ElasticState::commit() on all ranks, once all is committed, for the program to end: the
/// launcher then begins a generation on the slots that there are now.
class WorldChanged : public Error {
  using Error::Error;
};

class ElasticState {
 public:
  /// Keeps what an accelerator saves: what it was given to prepare and register. It has to outlive this.
  ElasticState(Accelerator& accelerator, const std::string& folder, Site s = Site::current());
  /// Keeps what add() is given, in a ShardedFolder.
  explicit ElasticState(const std::string& folder, ShardedFolderOptions options = {},
                        Site s = Site::current());
  ElasticState(const ElasticState&) = delete;

  /// Has a model, an optimizer, a schedule, a loader or a generator be part of the state: it has to stay
  /// where it is. All ranks hold the same.
  template <class T>
  ElasticState& add(const std::string& name, T& x) {
    if (accelerator_) {
      accelerator_->register_for_checkpointing(name, x);
      return *this;
    }
    parts_.push_back({[name, &x](Checkpoint& c) { c.add(name, x); },
                      [name, &x](const Checkpoint& c) { c.restore(name, x); }});
    return *this;
  }
  /// Calls f in restore(), once the state is there, in each generation but the first: the number of ranks may
  /// be another one.
  ElasticState& on_reset(std::function<void()> f);

  /// Loads the last commit, and returns its step; 0 without one.
  int64_t restore(Site s = Site::current());
  /// Has all ranks save the state, and tells the launcher of it. WorldChanged where there are other slots.
  void commit(int64_t step, Site s = Site::current());

  int generation() const;  // of the launch, from 0 on (ELASTIC_GENERATION)
  int restarts() const;    // of these after a failure (TORCHELASTIC_RESTART_COUNT)

 private:
  struct Part {
    std::function<void(Checkpoint&)> add;
    std::function<void(const Checkpoint&)> restore;
  };
  Accelerator* accelerator_ = nullptr;
  std::string folder_;
  std::unique_ptr<ShardedFolder> own_;  // without an accelerator
  std::vector<Part> parts_;
  std::vector<std::function<void()>> resets_;
};

/// Calls f, and returns the exit status for main(): 0; 75 after WorldChanged, for the launcher to begin the
/// next generation; 1 after CommunicationError, of which standard error has the text: another rank has
/// failed.
int run_elastic(const std::function<void()>& f);

}  // namespace lazy::training
