#include "lazy/training/elastic.hpp"

#include <cstdlib>

#include "lazy/ops/creation.hpp"
#include "lazy/training/heartbeat.hpp"
#include "support/log.hpp"

namespace lazy::training {
namespace {

int count_of_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

}  // namespace

ElasticState::ElasticState(Accelerator& accelerator, const std::string& folder, Site)
    : accelerator_(&accelerator), folder_(folder) {
  (void)detail::Heartbeat::of_process();
}

ElasticState::ElasticState(const std::string& folder, ShardedFolderOptions options, Site s)
    : folder_(folder), own_(std::make_unique<ShardedFolder>(folder, options, s)) {
  (void)detail::Heartbeat::of_process();
}

ElasticState& ElasticState::on_reset(std::function<void()> f) {
  resets_.push_back(std::move(f));
  return *this;
}

int64_t ElasticState::restore(Site s) {
  int64_t step = 0;
  if (accelerator_) {
    step = accelerator_->load_state(folder_, s).value_or(0);
  } else if (const auto last = own_->newest(s)) {
    for (const Part& p : parts_) p.restore(*last);
    step = last->step();
  }
  if (generation() > 0)
    for (const auto& reset : resets_) reset();
  return step;
}

void ElasticState::commit(int64_t step, Site s) {
  if (accelerator_) {
    (void)accelerator_->save_state(folder_, step, s);
  } else {
    Checkpoint c(step);
    for (const Part& p : parts_) p.add(c);
    (void)own_->save(c, s);
  }
  detail::Heartbeat& heart = detail::Heartbeat::of_process();
  heart.progressed();
  int64_t change = heart.change_announced();
  if (distributed::world_size() > 1) {
    const no_grad scope;
    change = distributed::all_reduce(full({1}, change), distributed::ReduceOp::max, {}, s).item<int64_t>(s);
  }
  if (!change) return;
  if (accelerator_) accelerator_->wait_for_saves(s);
  else own_->wait(s);
  throw WorldChanged("commit: step " + std::to_string(step) + " is kept; the next generation goes on from it",
                     s);
}

int ElasticState::generation() const { return count_of_environment("ELASTIC_GENERATION"); }
int ElasticState::restarts() const { return count_of_environment("TORCHELASTIC_RESTART_COUNT"); }

int run_elastic(const std::function<void()>& f) {
  constexpr int kChange = 75, kFailure = 1;
  try {
    f();
    return 0;
  } catch (const WorldChanged&) { return kChange; } catch (const CommunicationError& e) {
    logging::warning(e.what());
    return kFailure;
  }
}

}  // namespace lazy::training
