#include "tools/launch/manifests.hpp"

#include <yaml-cpp/yaml.h>

#include <cctype>
#include <filesystem>
#include <stdexcept>

#include "tools/launch/hosts.hpp"

namespace lazy::tool {
namespace {

using YAML::Node;

int port_of(const Launch& l) { return l.port ? l.port : 29500; }

/// Returns a name that Kubernetes takes (RFC 1123): of the program, in lower case.
std::string name_of(const Launch& l) {
  std::string name;
  for (const char c : std::filesystem::path(l.command.at(0)).stem().string()) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '-') name += '-';
  }
  name = name.substr(0, 40);
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() || !std::isalpha(static_cast<unsigned char>(name[0])) ? "lazy-" + name : name;
}

/// Returns a node that stays a text where it reads as a number, as Kubernetes needs of words and values.
Node text(const std::string& word) {
  Node n(word);
  n.SetTag("!");
  return n;
}
Node texts(const std::vector<std::string>& words) {
  Node list(YAML::NodeType::Sequence);
  for (const std::string& word : words) list.push_back(text(word));
  return list;
}

/// Returns the variables that the ranks are to have.
Node environment_of(const Launch& l) {
  Node list(YAML::NodeType::Sequence);
  for (const auto& [name, value] : l.variables) {
    Node pair;
    pair["name"] = name, pair["value"] = text(value);
    list.push_back(pair);
  }
  return list;
}

Node container(const std::string& name, const std::string& image) {
  Node c;
  c["name"] = name, c["image"] = image;
  return c;
}

void write(const Node& n, YAML::Emitter& out) {
  if (n.IsMap()) {
    out << YAML::BeginMap;
    for (const auto& pair : n) {
      out << YAML::Key << pair.first.Scalar() << YAML::Value;
      write(pair.second, out);
    }
    out << YAML::EndMap;
  } else if (n.IsSequence()) {
    out << YAML::BeginSeq;
    for (const auto& item : n) write(item, out);
    out << YAML::EndSeq;
  } else {
    if (n.Tag() == "!") out << YAML::DoubleQuoted;
    out << n.Scalar();
  }
}

std::string text_of(const Node& n) {
  YAML::Emitter out;
  write(n, out);
  return std::string(out.c_str()) + "\n";
}

/// Returns an MPIJob: mpirun gives each rank OMPI_COMM_WORLD_RANK, which a shell makes RANK.
std::string mpi_job(const Launch& l, const std::string& image) {
  const std::string name = name_of(l);
  Node job;
  job["apiVersion"] = "kubeflow.org/v2beta1", job["kind"] = "MPIJob";
  job["metadata"]["name"] = name;
  Node spec = job["spec"];
  spec["slotsPerWorker"] = l.processes;
  spec["mpiImplementation"] = "OpenMPI";
  spec["runPolicy"]["cleanPodPolicy"] = "Running";
  Node launcher = container("launcher", image);
  const std::string script =
      "RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
      "exec \"$@\"";
  std::vector<std::string> words = {"mpirun",
                                    "-n",
                                    std::to_string(l.processes * l.machines),
                                    "-x",
                                    "MASTER_ADDR=" + name + "-worker-0." + name,
                                    "-x",
                                    "MASTER_PORT=" + std::to_string(port_of(l))};
  for (const auto& [variable, value] : l.variables) words.insert(words.end(), {"-x", variable + "=" + value});
  words.insert(words.end(), {"sh", "-c", script, "rank"});
  words.insert(words.end(), l.command.begin(), l.command.end());
  launcher["command"] = texts(words);
  Node roles = spec["mpiReplicaSpecs"];
  roles["Launcher"]["replicas"] = 1;
  roles["Launcher"]["template"]["spec"]["containers"].push_back(launcher);
  roles["Worker"]["replicas"] = l.machines;
  roles["Worker"]["template"]["spec"]["containers"].push_back(container("worker", image));
  return text_of(job);
}

/// Returns a headless service, by whose names pods find each other, and a Job whose index is the machine.
std::string indexed_job(const Launch& l, const std::string& image) {
  const std::string name = name_of(l);
  Node service;
  service["apiVersion"] = "v1", service["kind"] = "Service", service["metadata"]["name"] = name;
  service["spec"]["clusterIP"] = "None";
  service["spec"]["selector"]["job-name"] = name;
  Node job;
  job["apiVersion"] = "batch/v1", job["kind"] = "Job", job["metadata"]["name"] = name;
  Node spec = job["spec"];
  spec["completions"] = l.machines, spec["parallelism"] = l.machines;
  spec["completionMode"] = "Indexed", spec["backoffLimit"] = 0;
  Node pod = spec["template"]["spec"];
  pod["subdomain"] = name, pod["restartPolicy"] = "Never";
  Node rank = container("ranks", image);
  std::vector<std::string> words = {"lazy-launch", "run",
                                    "--nproc",     std::to_string(l.processes),
                                    "--machines",  std::to_string(l.machines),
                                    "--machine",   "$(JOB_COMPLETION_INDEX)",
                                    "--host",      name + "-0." + name,
                                    "--port",      std::to_string(port_of(l))};
  words.insert(words.end(), l.command.begin(), l.command.end());
  rank["command"] = texts(words);
  if (!l.variables.empty()) rank["env"] = environment_of(l);
  rank["ports"].push_back(Node());
  rank["ports"][0]["containerPort"] = port_of(l);
  pod["containers"].push_back(rank);
  return text_of(service) + "---\n" + text_of(job);
}

std::string slurm_script(const Launch& l) {
  std::string text = "#!/bin/bash\n#SBATCH --job-name=" + name_of(l) +
                     "\n#SBATCH --nodes=" + std::to_string(l.machines) + "\n#SBATCH --ntasks-per-node=1\n";
  if (l.threads) text += "#SBATCH --cpus-per-task=" + std::to_string(l.processes * l.threads) + "\n";
  text += "\nset -eu\n";
  for (const auto& [name, value] : l.variables) text += "export " + name + "=" + quoted(value) + "\n";
  text += "host=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
  text += "srun --kill-on-bad-exit=1 sh -c 'exec lazy-launch run --nproc " + std::to_string(l.processes) +
          " --machines \"$SLURM_NNODES\" --machine \"$SLURM_NODEID\" --host \"$0\" --port " +
          std::to_string(port_of(l)) + " \"$@\"' \"$host\"";
  for (const std::string& word : l.command) text += " " + quoted(word);
  return text + "\n";
}

}  // namespace

std::string manifest(const std::string& kind, const Launch& l, const std::string& image) {
  if (kind == "kubernetes-mpijob") return mpi_job(l, image);
  if (kind == "kubernetes-job") return indexed_job(l, image);
  if (kind == "slurm") return slurm_script(l);
  throw std::invalid_argument("there is no kind " + kind);
}

}  // namespace lazy::tool
