// Writes what starts the ranks of a launch on a cluster.
#pragma once
#include <string>

#include "tools/launch/ranks.hpp"

namespace lazy::tool {

/// Returns the text of a kind: "kubernetes-mpijob" (Kubeflow's MPIJob, v2beta1), "kubernetes-job" (an indexed
/// Job with a headless service, a pod for each machine) or "slurm" (a script for sbatch).
std::string manifest(const std::string& kind, const Launch& l, const std::string& image);

}  // namespace lazy::tool
