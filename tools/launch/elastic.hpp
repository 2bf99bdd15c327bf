// Runs a program as ranks of which some may fail: generation after generation, each on what hosts there are.
#pragma once
#include <string>

#include "tools/launch/ranks.hpp"
#include "tools/launch/slots.hpp"

namespace lazy::tool {

struct Elastic {
  int least = 1, most = 1;     // ranks of a generation
  int max_restarts = 3;        // generations that may begin because one failed
  double slots_timeout = 600;  // seconds that `least` slots are waited for
  std::string rsh = "ssh";
  SlotSource slots;
};

/// Starts as many ranks as there are slots, and again with what there is when one is killed, is stopped, or
/// is silent: the others are ended first. When there are other slots, ranks are told, and a generation
/// begins when they have committed and ended (training::ElasticState). Ranks find TORCHELASTIC_RESTART_COUNT,
/// TORCHELASTIC_MAX_RESTARTS, TORCHELASTIC_RUN_ID and ELASTIC_GENERATION besides what run_ranks() gives them.
/// Returns 0 when all ranks of a generation have ended well, else the status of the first that failed in the
/// last one.
int run_elastic(const Elastic&, const Launch&);

}  // namespace lazy::tool
