// Tests what lazy-launch reads, shares out and prints: settings of files, cores, what starts it on clusters.
#define BOOST_TEST_MODULE launch
#include "tools/launch/settings.hpp"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <boost/test/included/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "tools/launch/cores.hpp"
#include "tools/launch/manifests.hpp"

using namespace lazy::tool;

namespace {

/// Is what `accelerate config` writes for a launch with FSDP.
constexpr const char* kAccelerates = R"(compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
enable_cpu_affinity: false
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_version: 2
machine_rank: 1
main_process_ip: 10.0.0.1
main_process_port: 29501
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 8
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: false
)";

struct File {
  std::string path;
  explicit File(const std::string& text)
      : path((std::filesystem::temp_directory_path() /
              ("lazy_settings_" + std::to_string(::getpid()) + ".yaml"))
                 .string()) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path); }
};

void refused(const std::string& text, const std::string& part) {
  const File file(text);
  try {
    (void)read_settings(file.path);
    BOOST_ERROR("nothing was thrown, expected: " + part);
  } catch (const SettingsError& e) {
    const std::string said = e.what();
    BOOST_TEST(said.find(part) != said.npos, said);
    BOOST_TEST(said.find(file.path) == 0u, said);
  }
}

Launch launch_of_two_machines() {
  Launch l;
  l.command = {"./Train_it.sh", "--data", "it's here"};
  l.processes = 4, l.machines = 2;
  l.variables = {{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "2"}};
  return l;
}

/// Requires each dotted name of fields to be there; a number chooses from a list.
void has(const YAML::Node& root, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    std::istringstream names(field);
    std::vector<YAML::Node> path{YAML::Clone(root)};
    for (std::string name; std::getline(names, name, '.');) {
      const YAML::Node next = path.back().IsSequence() ? path.back()[std::stoul(name)] : path.back()[name];
      BOOST_REQUIRE_MESSAGE(next.IsDefined() && !next.IsNull(), field + " is missing at " + name);
      path.push_back(next);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(settings)

BOOST_AUTO_TEST_CASE(of_accelerate) {
  const File file(kAccelerates);
  const Settings t = read_settings(file.path);
  BOOST_TEST(t.num_processes == 8);
  BOOST_TEST(t.num_machines == 2);
  BOOST_TEST(t.machine_rank == 1);
  BOOST_TEST(t.main_process_ip == "10.0.0.1");
  BOOST_TEST(t.main_process_port == 29501);
  BOOST_TEST(t.mixed_precision == "bf16");
  BOOST_TEST(t.not_honoured == (std::vector<std::string>{"distributed_type", "fsdp_config"}),
             boost::test_tools::per_element());
}

// What `accelerate config default` writes is JSON, which is YAML.
BOOST_AUTO_TEST_CASE(json) {
  const File file(R"({"compute_environment": "LOCAL_MACHINE", "debug": true, "distributed_type": "NO",
    "mixed_precision": "no", "num_machines": 1, "num_processes": 1, "use_cpu": true,
    "deepspeed_config": {"gradient_accumulation_steps": 4}})");
  const Settings t = read_settings(file.path);
  BOOST_TEST(t.debug);
  BOOST_TEST(t.gradient_accumulation_steps == 4);
  BOOST_TEST(t.not_honoured.empty());
}

BOOST_AUTO_TEST_CASE(round_trip) {
  const File file("");
  Settings t;
  t.num_processes = 6, t.num_machines = 3, t.machine_rank = 2, t.main_process_ip = "10.0.0.7";
  t.main_process_port = 1234, t.mixed_precision = "fp16";
  write_settings(file.path, t);
  const Settings u = read_settings(file.path);
  BOOST_TEST(u.num_processes == 6);
  BOOST_TEST(u.num_machines == 3);
  BOOST_TEST(u.machine_rank == 2);
  BOOST_TEST(u.main_process_ip == "10.0.0.7");
  BOOST_TEST(u.main_process_port == 1234);
  BOOST_TEST(u.mixed_precision == "fp16");
  BOOST_TEST(u.not_honoured.empty());
}

BOOST_AUTO_TEST_CASE(mistakes) {
  refused("num_procesess: 2\n", ":1: there is no setting num_procesess; the nearest is num_processes");
  refused("debug: false\nnum_processes: many\n", ":2: num_processes is a number from 1 to 1048576, not many");
  refused("num_processes: 0\n", "from 1 to");
  refused("num_processes: 99999999999999999999\n", "from 1 to");
  refused("num_processes: [2]\n", "one value, not a list or map");
  refused("num_processes: 2\nnum_processes: 3\n", ":2: num_processes comes twice");
  refused("mixed_precision: fp8\n", "no, fp16 or bf16, not fp8");
  refused("debug: perhaps\n", "debug is true or false");
  refused("num_processes: 3\nnum_machines: 2\n", "2 machines do not divide 3 processes");
  refused("num_processes: 2\nnum_machines: 2\nmachine_rank: 2\n", "machine_rank 2 of 2 machines");
  refused("- 1\n", "a map of settings was expected");
  refused("a: [1\n", ":");
  refused(std::string(2 << 20, '#'), "at most 1 MiB");
  refused("mpirun_config: 3\n", "mpirun_config is a map");
}

// Files of broken bytes are settings, or an error that says where; nothing else, and soon.
BOOST_AUTO_TEST_CASE(mutations) {
  const uint32_t seed = 20261128;
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 g(seed);
  const auto begin = std::chrono::steady_clock::now();
  int refusals = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = kAccelerates;
    for (unsigned n = 1 + g() % 6; n; --n) {
      const size_t at = g() % text.size();
      switch (g() % 4) {
        case 0: text[at] = static_cast<char>(g()); break;
        case 1: text.erase(at, 1 + g() % 20); break;
        case 2: text.insert(at, text.substr(g() % text.size(), g() % 40)); break;
        default: text.insert(at, std::string(1 + g() % 3, "[]{}:&*!|>'\"\n"[g() % 13]));
      }
    }
    const File file(text);
    try {
      (void)read_settings(file.path);
    } catch (const SettingsError&) { ++refusals; }
  }
  BOOST_TEST(refusals > 200, "seed " << seed);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)), "seed " << seed);
  refused(std::string(500'000, '['), ":");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(shares)

BOOST_AUTO_TEST_CASE(cores) {
  const Cores all{0, 1, 2, 3, 8, 9, 10};
  BOOST_TEST(share_of(all, 0, 2) == (Cores{0, 1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(share_of(all, 1, 2) == (Cores{8, 9, 10}), boost::test_tools::per_element());
  for (int ranks = 1; ranks <= 7; ++ranks) {
    Cores together;
    for (int r = 0; r < ranks; ++r)
      for (const int c : share_of(all, r, ranks)) together.push_back(c);
    BOOST_TEST(together == all, boost::test_tools::per_element());
  }
  BOOST_TEST(share_of(all, 0, 8).empty());
  BOOST_TEST(!cores_here().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(manifests)

// Required by the MPIJob's definition (kubeflow/mpi-operator, manifests/base/kubeflow.org_mpijobs.yaml:
// mpiReplicaSpecs; of a role, its template) and by Kubernetes' of a pod (containers; of one, its name).
BOOST_AUTO_TEST_CASE(mpi_job) {
  const YAML::Node job = YAML::Load(manifest("kubernetes-mpijob", launch_of_two_machines(), "here/image:1"));
  has(job,
      {"apiVersion", "kind", "metadata.name", "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0.name",
       "spec.mpiReplicaSpecs.Launcher.template.spec.containers.0.image",
       "spec.mpiReplicaSpecs.Worker.template.spec.containers.0.name",
       "spec.mpiReplicaSpecs.Worker.template.spec.containers.0.image"});
  BOOST_TEST(job["apiVersion"].Scalar() == "kubeflow.org/v2beta1");
  BOOST_TEST(job["kind"].Scalar() == "MPIJob");
  BOOST_TEST(job["metadata"]["name"].Scalar() == "train-it");
  BOOST_TEST(job["spec"]["slotsPerWorker"].as<int>() == 4);
  BOOST_TEST(job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"].as<int>() == 2);
  const YAML::Node words =
      job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"];
  BOOST_TEST(words[2].as<int>() == 8);
  for (const auto& word : words) BOOST_TEST(word.Tag() == "!", "a word is a text, not a number");
  BOOST_TEST(words[words.size() - 1].Scalar() == "it's here");
}

// Required by Kubernetes' API reference, v1 of batch: template; completions for Indexed; a restartPolicy that
// is not Always.
BOOST_AUTO_TEST_CASE(indexed_job) {
  const auto all = YAML::LoadAll(manifest("kubernetes-job", launch_of_two_machines(), "here/image:1"));
  BOOST_REQUIRE(all.size() == 2u);
  has(all[0], {"apiVersion", "kind", "metadata.name", "spec.clusterIP", "spec.selector.job-name"});
  BOOST_TEST(all[0]["spec"]["clusterIP"].Scalar() == "None");
  has(all[1],
      {"apiVersion", "kind", "metadata.name", "spec.completions", "spec.template.spec.containers.0.name",
       "spec.template.spec.containers.0.image", "spec.template.spec.subdomain"});
  BOOST_TEST(all[1]["spec"]["completionMode"].Scalar() == "Indexed");
  BOOST_TEST(all[1]["spec"]["completions"].as<int>() == 2);
  BOOST_TEST(all[1]["spec"]["template"]["spec"]["restartPolicy"].Scalar() == "Never");
  BOOST_TEST(all[1]["spec"]["template"]["spec"]["subdomain"].Scalar() == all[0]["metadata"]["name"].Scalar());
  const YAML::Node value = all[1]["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"];
  BOOST_TEST(value.Scalar() == "2");
  BOOST_TEST(value.Tag() == "!", "a variable's value is a text, not a number");
}

BOOST_AUTO_TEST_CASE(slurm) {
  const std::string text = manifest("slurm", launch_of_two_machines(), "");
  BOOST_TEST(text.find("#!/bin/bash\n") == 0u);
  for (const char* const part : {"#SBATCH --nodes=2\n", "#SBATCH --ntasks-per-node=1\n", "--nproc 4 ",
                                 "export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=2\n", " 'it'\\''s here'\n"})
    BOOST_TEST(text.find(part) != text.npos, text);
}

BOOST_AUTO_TEST_SUITE_END()
