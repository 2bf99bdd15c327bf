// Runs lazy-run: describes, runs, checks and measures a model of a file or folder.
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>

#include "lazy/lazy.hpp"
#include "support/text.hpp"
#include "tools/run/chart.hpp"
#include "tools/run/describe.hpp"
#include "tools/run/generate.hpp"
#include "tools/run/inputs.hpp"
#include "tools/run/measure.hpp"
#include "tools/run/model.hpp"
#include "tools/run/names.hpp"
#include "tools/run/outputs.hpp"

using namespace lazy;
using Json = nlohmann::ordered_json;

namespace {

enum Status { kDone = 0, kDiffers = 1, kUsage = 2, kFailed = 3 };

struct Options {
  std::string model, json, device, dtype, picture;
  bool show = false, bench = false;
  tool::Int8 int8 = tool::Int8::none;
  int threads = 0;
  tool::InputOptions inputs;
  tool::OutputOptions outputs;
  tool::MeasureOptions measure;
  tool::GenerateOptions generate;
};

void write_json(const std::string& path, const Json& all) {
  const std::string text = all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw Error("cannot write " + path);
}

/// Draws in which kernels the time of calls goes.
void draw_shares(const Options& o, const Json& bench) {
  std::vector<tool::Bar> bars;
  for (const Json& k : bench["kernels"]) bars.emplace_back(k["kernel"], k["share"]);
  const double p50 = bench["latency_ms"]["p50"];
  tool::write_chart(o.picture,
                    std::filesystem::path(o.model).filename().string() + ": kernels' shares of a call of " +
                        text::formatted("%.3g ms", p50),
                    bars);
}

/// Quantises the model, and says what its outputs differ by.
void use_int8(tool::Model& model, tool::Int8 how, const NamedTensors& inputs, bool quiet, Json& all) {
  const NamedTensors before = model(inputs);
  for (const auto& [name, t] : before) Tensor(t).eval();
  const tool::Quantised q = model.quantise(how);
  all["int8"] = {{"layers", q.layers},
                 {"bytes_before", q.bytes_before},
                 {"bytes_after", q.bytes_after},
                 {"outputs", tool::differences(model(inputs), before)}};
  if (quiet) return;
  std::cout << "int8  " << q.layers << " layers, weights of "
            << text::human_size(static_cast<uint64_t>(q.bytes_before)) << " became "
            << text::human_size(static_cast<uint64_t>(q.bytes_after)) << '\n';
  for (const Json& d : all["int8"]["outputs"])
    std::cout << "  " << d["output"].get<std::string>() << "  differs by "
              << text::formatted("%.3g", d["relative"].get<double>()) << " of its norm, "
              << text::formatted("%.3g", d["largest"].get<double>()) << " at most, cosine "
              << text::formatted("%.6f", d["cosine"].get<double>()) << '\n';
}

/// Runs the model, and does with the outputs what the command line says. Returns false if a check fails.
bool run(tool::Model& model, const Options& o, Json& all) {
  const bool quiet = o.json == "-";
  const NamedTensors inputs = tool::make_inputs(model, o.inputs);
  if (o.int8 != tool::Int8::none) use_int8(model, o.int8, inputs, quiet, all);
  // Measured first: a call before would have compiled what the first one is measured for.
  if (o.bench) {
    const double load_ms = all["load_ms"];
    all["bench"] = tool::measure(model, inputs, o.measure);
    all["bench"]["load_ms"] = load_ms;
    if (!quiet) tool::print_measurement(all["bench"]);
    if (!o.picture.empty()) draw_shares(o, all["bench"]);
    if (o.outputs.files.empty() && o.outputs.checks.empty() && o.outputs.top == 0) return true;
  }
  const NamedTensors outputs = model(inputs);
  for (const auto& [name, t] : outputs) Tensor(t).eval();
  tool::write(model, outputs, o.outputs);
  all["outputs"] = tool::summarise(outputs);
  if (o.outputs.top > 0 && !quiet) tool::print_top(outputs, o.outputs.top, o.outputs.labels);
  else if (o.outputs.files.empty() && o.outputs.checks.empty() && !quiet) tool::print_summary(all["outputs"]);
  if (o.outputs.checks.empty()) return true;
  all["checks"] = tool::check(model, outputs, o.outputs);
  if (!quiet) tool::print_checks(all["checks"]);
  return std::all_of(all["checks"].begin(), all["checks"].end(),
                     [](const Json& c) { return c["holds"].get<bool>(); });
}

MaybeDType dtype_of(const std::string& name) {
  for (const DType t : {float32, bfloat16, float16})
    if (name == name_of(t)) return t;
  return {};
}

Status write_text(Options o) {
  o.generate.int8 = o.int8;
  o.generate.quiet = o.json == "-";
  o.generate.seed = o.inputs.seed;
  Json all;
  all["generated"] = tool::generate(o.model, dtype_of(o.dtype), o.generate);
  if (!o.generate.quiet) tool::print_generated(all["generated"]);
  if (!o.json.empty()) write_json(o.json, all);
  return kDone;
}

Status work(const Options& o) {
  if (o.generate.prompt || o.generate.chat) return write_text(o);
  if (o.int8 != tool::Int8::none && !o.bench && o.inputs.given.empty())
    throw tool::UsageError("--int8: needs inputs, --bench or --generate");
  const std::unique_ptr<tool::ModelFile> file = tool::open_model(o.model);
  const bool shows = o.show || (!o.bench && o.inputs.given.empty());
  Json all;
  if (shows) {
    all["model"] = file->describe();
    if (o.json != "-") std::cout << tool::description_text(all["model"]) << std::flush;
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<tool::Model> model = file->load(dtype_of(o.dtype));
  all["load_ms"] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (shows) {
    // Values that share the file take no memory of their own until they are read.
    const uint64_t copied = metrics().bytes_live;
    all["model"]["copied_bytes"] = copied;
    if (o.json != "-")
      std::cout << "memory\n  " << text::human_size(copied)
                << " of parameters copied, the others share the file\n";
  }
  tool::check_options(*model, o.outputs);
  bool good = true;
  if (o.bench || !o.inputs.given.empty()) good = run(*model, o, all);
  if (!o.json.empty()) write_json(o.json, all);
  return good ? kDone : kDiffers;
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("model", o.model,
                 "model in the ONNX format, folder with config.json and model.safetensors, or file .gguf")
      ->required();
  app.add_flag("--show", o.show,
               "describe the model: inputs, outputs, parameters, operators or config; without inputs the "
               "default");
  app.add_option(
         "-i,--input", o.inputs.given,
         "NAME=SOURCE, or SOURCE for the only input: a file .npy, .npz, .png, .jpg or .wav; random, zeros, "
         "ones or a number for all elements. A .npz without a name has inputs by their names")
      ->allow_extra_args(false)
      ->type_name("SOURCE");
  app.add_option("--shape", o.inputs.shapes, "NAME=1,3,224,224: shape of an input, for its dynamic extents")
      ->allow_extra_args(false)
      ->type_name("SHAPE");
  app.add_option("--mean", o.inputs.mean, "subtracted from pictures of 0 to 1: a number a channel")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--std", o.inputs.std, "what pictures are divided by then")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--seed", o.inputs.seed, "of random numbers")->capture_default_str();
  app.add_flag("--cast", o.inputs.cast, "convert files of other dtypes");
  app.add_option(
         "-o,--output", o.outputs.files,
         "NAME=FILE, or FILE for the only output: .npy or .npz. A .npz without a name gets all outputs")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--top", o.outputs.top, "print so many of the largest elements along the last axis")
      ->check(CLI::PositiveNumber);
  app.add_option("--labels", o.outputs.labels, "file with a name for each class, a line each; for --top");
  app.add_option("--check", o.outputs.checks,
                 "NAME=FILE, or FILE for the only output: compare an output with a file .npy or .npz")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--rtol", o.outputs.relative, "allowed of the expected element")->capture_default_str();
  app.add_option("--atol", o.outputs.absolute, "allowed besides")->capture_default_str();
  app.add_option("--bench", o.measure.calls,
                 "measure so many calls; without a number two seconds. Inputs are random "
                 "unless given")
      ->expected(0, 1)
      ->check(CLI::NonNegativeNumber)
      ->type_name("[CALLS]");
  app.add_option("--kernels", o.measure.kernels,
                 "with --bench: so many kernels, and kinds of them, that take most of the time; 0: none")
      ->capture_default_str();
  app.add_option("--picture", o.picture, "with --bench: draw the kernels' shares as bars, .svg or .png")
      ->needs("--bench")
      ->check([](const std::string& path) {
        const bool known = tool::has_ending(path, ".svg") || tool::has_ending(path, ".png");
        return known ? std::string() : "'" + path + "' is no .svg or .png file";
      })
      ->type_name("FILE");
}

constexpr const char* kOfGeneration[] = {"--max-tokens", "--temperature", "--top-k", "--top-p",
                                         "--min-p",      "--greedy",      "--stop",  "--beams"};

void add_generation(CLI::App& app, Options& o) {
  tool::GenerateOptions& g = o.generate;
  app.add_option("--generate", g.prompt,
                 "go on with a text, by the model and the tokenizer of a folder or a "
                 "file .gguf; the other options for a run have no effect then")
      ->type_name("TEXT");
  app.add_option(
         "--chat", g.chat,
         "answer a text of a user: like --generate, with the prompt that the model's chat template makes")
      ->type_name("TEXT")
      ->excludes("--generate");
  app.add_option("--system", g.system, "what the conversation begins with, of the role system")
      ->type_name("TEXT")
      ->needs("--chat");
  const auto add = [&](const char* name, auto& to, const char* help) {
    return app.add_option(name, to, help)->capture_default_str();
  };
  add("--max-tokens", g.max_tokens, "new tokens at most")->check(CLI::NonNegativeNumber);
  add("--temperature", g.temperature, "scores are divided by it; 0: always the most probable token")
      ->check(CLI::NonNegativeNumber);
  add("--top-k", g.top_k, "draw among so many tokens of the largest scores; 0: all")
      ->check(CLI::NonNegativeNumber);
  add("--top-p", g.top_p, "draw among the most probable tokens that together reach it")
      ->check(CLI::Range(0.0, 1.0));
  add("--min-p", g.min_p, "draw among tokens of at least this part of the largest probability")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--greedy", g.greedy, "always the most probable token");
  add("--stop", g.stop, "a text that ends it; may be given several times")->allow_extra_args(false);
  add("--beams", g.beams, "follow so many continuations and take the best; nothing is drawn")
      ->check(CLI::PositiveNumber);
  app.final_callback([&app] {
    if (app.count("--generate") + app.count("--chat") > 0) return;
    for (const char* option : kOfGeneration)
      if (app.count(option) > 0) throw CLI::RequiresError(option, "--generate or --chat");
  });
}

void add_settings(CLI::App& app, Options& o) {
  app.add_option("--json", o.json,
                 "write everything as JSON to a file; - is standard output, which has nothing else then")
      ->type_name("FILE");
  app.add_option("--threads", o.threads, "threads of the CPU; all if not given")->check(CLI::PositiveNumber);
  app.add_option("--device", o.device, "where the model runs")->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  app.add_flag(
         "--int8{usual}", o.int8,
         "make the weights of linear maps and convolutions int8, with a scale for each output channel, and "
         "say what that changes in bytes and in the outputs. --int8=weights: what they multiply stays as it "
         "is; --int8=dynamic: it is rounded to int8 too, in each call; --int8: weights for the ONNX format "
         "(of MatMul, Gemm and Conv nodes), else dynamic")
      ->transform(CLI::CheckedTransformer(std::map<std::string, tool::Int8>{
          {"usual", tool::Int8::usual}, {"weights", tool::Int8::weights}, {"dynamic", tool::Int8::dynamic}}))
      ->option_text("[=weights|dynamic]");
  app.add_option("--dtype", o.dtype, "of the weights")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
  app.footer(
      "Examples:\n"
      "  lazy-run model.onnx\n"
      "  lazy-run model.onnx --input x=a.npy --output y=b.npy\n"
      "  lazy-run resnet.onnx --input cat.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --top 5 "
      "--labels l.txt\n"
      "  lazy-run model.onnx --input random --shape x=8,3,224,224 --bench --threads 1 --kernels 10\n"
      "  lazy-run TinyLlama --input input_ids=ids.npy --output logits=y.npy\n"
      "  lazy-run TinyLlama --generate 'Once upon a time' --temperature 0.8 --top-p 0.9\n"
      "  lazy-run Qwen2.5-0.5B-Instruct --chat 'What is a tensor?' --system 'Answer briefly.' --greedy\n"
      "  lazy-run model.onnx --input in.npz --check out.npz --rtol 1e-3\n"
      "Exit status: 0 done, 1 a check does not hold, 2 wrong arguments, 3 a file can't be read or the model "
      "not run.");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like others
  CLI::App app{
      "Describes, runs, checks and measures a model, and has it write: a file in the ONNX or GGUF format, or "
      "a folder as "
      "Hugging Face keeps it.",
      "lazy-run"};
  Options o;
  add_options(app, o);
  add_generation(app, o);
  add_settings(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? kDone : kUsage; }
  o.bench = app.count("--bench") > 0;
  o.inputs.fill = o.bench;
  o.measure.threads = o.threads;
  // Settings are read when the library is first used.
  if (o.threads > 0) ::setenv("LAZY_NUM_THREADS", std::to_string(o.threads).c_str(), 1);
  if (!o.device.empty()) ::setenv("LAZY_DEVICE", o.device.c_str(), 1);
  try {
    return work(o);
  } catch (const tool::UsageError& e) {
    std::cerr << "lazy-run: " << e.what() << '\n';
    return kUsage;
  } catch (const Error& e) {
    std::cerr << "lazy-run: " << tool::plain_text(e) << '\n';
  } catch (const std::exception& e) { std::cerr << "lazy-run: " << e.what() << '\n'; }
  return kFailed;
}
