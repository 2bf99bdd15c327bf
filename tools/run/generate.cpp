#include "tools/run/generate.hpp"

#include <signal.h>

#include <chrono>
#include <iostream>

#include "lazy/text/chat_template.hpp"
#include "lazy/text/generate_text.hpp"
#include "support/text.hpp"
#include "tools/run/measure.hpp"
#include "tools/run/names.hpp"
#include "tools/run/quantise.hpp"

namespace lazy::tool {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

volatile sig_atomic_t interrupted = 0;

/// Has Ctrl-C set `interrupted` in a scope; a second one ends the program.
class Interrupts {
 public:
  Interrupts() {
    struct sigaction mine {};
    mine.sa_handler = [](int) { interrupted = 1; };
    mine.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &mine, &before_);
  }
  Interrupts(const Interrupts&) = delete;
  ~Interrupts() { ::sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

const char* name_of(text::Finish f) {
  switch (f) {
    case text::Finish::length: return "length";
    case text::Finish::stop_token: return "end of text";
    case text::Finish::stop_sequence: return "stop";
    default: return "interrupted";
  }
}

/// Returns the prompt of a conversation, as the chat template says.
std::string prompt_of(const text::Tokenizer& tokenizer, const GenerateOptions& o) {
  std::vector<text::ChatMessage> messages;
  if (o.system) messages.push_back({"system", *o.system});
  messages.push_back({"user", *o.chat});
  return text::ChatTemplate(tokenizer, Site()).apply(messages, {.add_generation_prompt = true}, Site());
}

}  // namespace

Json generate(const std::filesystem::path& path, MaybeDType dtype, const GenerateOptions& o) {
  std::error_code none;
  if (!std::filesystem::is_directory(path, none) && !has_ending(path.string(), ".gguf"))
    throw UsageError(std::string(o.chat ? "--chat" : "--generate") + ": '" + path.string() +
                     "' is no folder of a model with its tokenizer, and no file .gguf");
  const auto begin = Clock::now();
  pretrained::Model model = pretrained::load(path, {.dtype = dtype}, Site());
  if (o.int8 != Int8::none) quantise(model, o.int8);
  const text::CausalModel causal(model, Site());
  const text::Tokenizer tokenizer = text::load_tokenizer(path, Site());
  const std::string prompt = o.chat ? prompt_of(tokenizer, o) : *o.prompt;
  const auto loaded = Clock::now();
  Generator generator(o.seed);
  std::vector<Clock::time_point> times;
  const Interrupts scope;
  const auto on_text = [&](std::string_view added) {
    times.push_back(Clock::now());
    if (!o.quiet) std::cout << added << std::flush;
    return !interrupted && std::cout.good();
  };
  const text::GeneratedText out = text::generate_text(causal, tokenizer, prompt,
                                                      {.sampling = {.temperature = o.temperature,
                                                                    .greedy = o.greedy,
                                                                    .top_k = o.top_k,
                                                                    .top_p = o.top_p,
                                                                    .min_p = o.min_p},
                                                       .special_tokens = !o.chat,
                                                       .max_new_tokens = o.max_tokens,
                                                       .stop = o.stop,
                                                       .beams = o.beams,
                                                       .generator = &generator,
                                                       .on_text = on_text},
                                                      Site());
  if (!o.quiet) std::cout << std::endl;
  Json j;
  if (o.chat) j["prompt"] = prompt;
  j["text"] = out.text;
  j["prompt_tokens"] = out.prompt_tokens;
  j["tokens"] = out.tokens.size();
  j["ids"] = out.tokens;
  j["finish"] = name_of(out.finish);
  j["load_ms"] = ms_between(begin, loaded);
  if (!times.empty()) j["first_token_ms"] = ms_between(loaded, times[0]);
  const size_t n = std::min(times.size(), out.tokens.size());
  if (n > 1) j["tokens_per_second"] = static_cast<double>(n - 1) / ms_between(times[0], times[n - 1]) * 1e3;
  j["peak_memory_bytes"] = status_bytes("VmHWM");
  return j;
}

void print_generated(const Json& j) {
  const auto number = [&](const char* key, const char* format) {
    return text::formatted(format, j[key].get<double>());
  };
  std::cerr << "loaded in " << number("load_ms", "%.0f") << " ms; " << j["prompt_tokens"]
            << " tokens of the prompt, " << j["tokens"] << " new ones (" << j["finish"].get<std::string>()
            << ")";
  if (j.contains("first_token_ms"))
    std::cerr << "; the first in " << number("first_token_ms", "%.0f") << " ms";
  if (j.contains("tokens_per_second"))
    std::cerr << ", then " << number("tokens_per_second", "%.1f") << " a second";
  std::cerr << "; " << text::human_size(j["peak_memory_bytes"].get<uint64_t>()) << " at most\n";
}

}  // namespace lazy::tool
