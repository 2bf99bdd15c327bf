// Makes the mistakes that newcomers make: each error has the name that was typed, the line, and words that
// help.
#include <initializer_list>
#include <string>

#include "lazy/data/data.hpp"
#include "lazy/nn/nn.hpp"
#include "lazy/optim/optim.hpp"
#include "tests/common/folder.hpp"
#include "tests/lazy/core/messages/messages.hpp"

namespace {

/// Checks that the call throws an error that begins with `name: `, has all words, and ends with the caller's
/// line.
void mistake(const char* name, std::initializer_list<const char*> words, lazy::test::AnyCall call, int line,
             const char* file = __builtin_FILE()) {
  BOOST_TEST_CONTEXT("from line " << line) {
    try {
      call();
      BOOST_ERROR("throws nothing");
    } catch (const Error& e) {
      const std::string text = e.what();
      BOOST_TEST((*name == 0 || text.starts_with(std::string(name) + ": ")), text);
      for (const char* w : words) BOOST_TEST(text.find(w) != text.npos, "no \"" << w << "\" in: " << text);
      const std::string at = std::filesystem::path(file).filename().string() + ":" + std::to_string(line);
      BOOST_TEST(text.find("(" + at + ")") != text.npos, "not this line: " << text);
    }
  }
}

struct Bench {
  Tensor x = arange(12).reshape(3, 4).astype(float32), v = tensor({1.0, 2.0, 3.0}), i = arange(3),
         img = zeros({2, 3, 8, 8});
  lazy::test::Folder folder;
  std::string path(const char* name) const { return folder / name; }
};

}  // namespace

#define WORDS(...) \
  { __VA_ARGS__ }
#define MISTAKE(name, words, ...) \
  mistake(                        \
      name, words, [&] { (void)(__VA_ARGS__); }, __LINE__)
#define MISTAKEN(name, words, ...) \
  mistake(                         \
      name, words, [&] { __VA_ARGS__; }, __LINE__)

BOOST_FIXTURE_TEST_SUITE(mistakes, Bench)

BOOST_AUTO_TEST_CASE(shapes) {
  MISTAKE("add", WORDS("[3, 4]", "[3]"), x + v);
  MISTAKE("multiply", WORDS("[3, 4]", "[5]"), x * ones({5}));
  MISTAKE("matmul", WORDS("[3, 4]"), matmul(x, x));
  MISTAKE("matmul", WORDS("[3, 4]", "[3]"), matmul(x, v));
  MISTAKE("reshape", WORDS("[3, 4]", "[5, 2]"), x.reshape(5, 2));
  MISTAKE("reshape", WORDS("only one extent", "-1"), x.reshape({-1, -1}));
  MISTAKE("view", WORDS("[3, 4]", "[5, 2]"), x.view(5, 2));
  MISTAKE("permute", WORDS("axis"), x.permute(0, 2));
  MISTAKE("permute", WORDS("axes"), x.permute({0}));
  MISTAKE("permute_dims", WORDS("twice"), permute_dims(x, {0, 0}));
  MISTAKE("transpose", WORDS("axis"), x.transpose(0, 2));
  MISTAKE("unsqueeze", WORDS("axis"), x.unsqueeze(5));
  MISTAKE("unsqueeze", WORDS("axis"), unsqueeze(x, 5));
  MISTAKE("expand_dims", WORDS("axis"), expand_dims(x, 5));
  MISTAKE("squeeze", WORDS("axis"), squeeze(x, 0));
  MISTAKE("concatenate", WORDS("[3, 4]", "[3]"), concatenate({x, v}));
  MISTAKE("concat", WORDS("[3, 4]", "[2, 4]"), concat({x, ones({2, 4})}, 1));
  MISTAKE("cat", WORDS("[3, 4]", "[2, 4]"), cat({x, ones({2, 4})}, 1));
  MISTAKE("stack", WORDS("[3, 4]", "[3]"), stack({x, v}));
  MISTAKE("split", WORDS("[3, 4]"), split(x, 3, 1));
  MISTAKE("broadcast_to", WORDS("[3, 4]", "[2, 4]"), broadcast_to(x, {2, 4}));
  MISTAKE("expand", WORDS("[3, 4]", "[2, 4]"), x.expand(2, 4));
  MISTAKE("flatten", WORDS("axis"), flatten(x, 3));
  MISTAKE("tile", WORDS("-1"), tile(x, {-1}));
  MISTAKE("swapaxes", WORDS("axis"), swapaxes(x, 0, 5));
  MISTAKE("moveaxis", WORDS("axis"), moveaxis(x, 0, 5));
  MISTAKE("flip", WORDS("axis"), flip(x, 2));
  MISTAKE("zeros", WORDS("-1"), zeros({2, -1}));
  MISTAKE("ones", WORDS("-1"), ones({-1}));
  MISTAKE("full", WORDS("-3"), full({-3}, 1.0));
  MISTAKE("empty", WORDS("-3"), empty({-3}));
  MISTAKE("rand", WORDS("-3"), rand({-3}));
  MISTAKE("randn", WORDS("-3"), randn({-3}));
  MISTAKE("eye", WORDS("-3"), eye(-3));
  MISTAKE("shape", WORDS("9", "8 dimensions"), zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  MISTAKE("dot", WORDS("[3]", "[4]"), dot(v, ones({4})));
  MISTAKE("einsum", WORDS("j"), einsum("ij,jk->ik", x, x));
  MISTAKE("einsum", WORDS("ij"), einsum("ij->ik", x));
  MISTAKE("tensor", WORDS("row"), tensor({{1.0, 2.0}, {3.0}}));
  MISTAKE("arange", WORDS("step"), arange(0, 5, 0));
  MISTAKE("linspace", WORDS("-1"), linspace(0, 1, -1));
}

BOOST_AUTO_TEST_CASE(axes_and_reductions) {
  MISTAKE("sum", WORDS("axis", "2"), x.sum(2));
  MISTAKE("sum", WORDS("axis"), sum(x, {0, 0}));
  MISTAKE("mean", WORDS("axis", "-3"), mean(x, -3));
  MISTAKE("max", WORDS("no elements", "[0, 3]"), max(zeros({0, 3}), 0));
  MISTAKE("argmax", WORDS("axis"), argmax(x, 2));
  MISTAKE("cumsum", WORDS("axis"), cumsum(x, 2));
  MISTAKE("softmax", WORDS("axis", "2"), softmax(x, 2));
  MISTAKE("sort", WORDS("axis"), sort(x, 2));
  MISTAKE("topk", WORDS("5", "4"), topk(x, 5));
  MISTAKE("quantile", WORDS("1.5", "0 to 1"), quantile(x, 1.5));
  MISTAKE("percentile", WORDS("150"), percentile(x, 150));
  MISTAKE("gather", WORDS("axis"), gather(x, 2, i));
  MISTAKE("take", WORDS("float32"), take(x, v, 0));
}

BOOST_AUTO_TEST_CASE(indices) {
  MISTAKE("", WORDS("5", "[3, 4]"), x(5, 0));
  MISTAKE("", WORDS("3", "2"), x(0, 0, 0));
  MISTAKE("", WORDS("-4"), x[-4]);
  MISTAKE("", WORDS("float32"), x(v));
  MISTAKE("", WORDS("[3]", "[3, 4]"), x(_, v > 1));
  MISTAKEN("assign", WORDS("[4]", "[3]"), x(0) = v);
  MISTAKEN("assign", WORDS("[8]", "[2]"), x(x > 3) = ones({2}));
  MISTAKE("index", WORDS("step", "0"), x(slice(0, 2, 0)));
  MISTAKE("", WORDS("ellipsis"), x(ellipsis, 0, ellipsis));
  MISTAKE("one_hot", WORDS("float32"), one_hot(v, 3));
}

BOOST_AUTO_TEST_CASE(dtypes) {
  Tensor w = i;
  MISTAKEN("+=", WORDS("int64", "float32", "astype"), w += 0.5);
  MISTAKEN("+=", WORDS("int64", "float32", "astype"), w(0) += 0.5);
  MISTAKEN("-=", WORDS("int64", "float32", "astype"), w(w > 0) -= 0.5);
  MISTAKEN("*=", WORDS("int64", "float32", "astype"), w *= v);
  MISTAKE("bitwise_and", WORDS("float32"), x & x);
  MISTAKE("remainder", WORDS("uint64", "int64"), remainder(i, i.astype(uint64)));
  MISTAKE("item", WORDS("float32", "int32", "astype"), v(0).item<int>());
  MISTAKE("item", WORDS("[3]", "one element"), v.item<float>());
  MISTAKE("to_vector", WORDS("float32", "int32", "astype"), x.to_vector<int>());
  BOOST_TEST(x.to_vector<double>().back() == 11);  // nothing is lost
  BOOST_TEST(int(v(1)) == 2);                      // a cast of C++ that is asked for
  MISTAKE("bool", WORDS("[3, 4]", "all()", "any()"), bool(x > 1));
  MISTAKEN("bool", WORDS("[3, 4]", "all()", "any()", "&"), if (x > 1 && x < 5) return );
  MISTAKE("where", WORDS("float32", "bool"), where(x, x, x));
  MISTAKE("full", WORDS("300", "int8"), full({2}, 300, int8));
  MISTAKE("add", WORDS("300", "int8"), ones({2}, int8) + 300);
  MISTAKE("matmul", WORDS("uint64", "int64"), matmul(ones({2, 2}, uint64), ones({2, 2}, int64)));
  MISTAKE("add", WORDS("empty", "assign to it first"), Tensor() + 1);
  MISTAKE("sum", WORDS("empty", "assign to it first"), Tensor().sum());
}

BOOST_AUTO_TEST_CASE(linear_algebra) {
  MISTAKE("inv", WORDS("[3, 4]"), linalg::inv(x));
  MISTAKE("det", WORDS("[3, 4]"), linalg::det(x));
  MISTAKE("cholesky", WORDS("[3, 4]"), linalg::cholesky(x));
  MISTAKE("solve", WORDS("[3, 4]"), linalg::solve(x, v));
  MISTAKE("solve", WORDS("[3, 3]", "[4]"), linalg::solve(eye(3), ones({4})));
  MISTAKE("eigh", WORDS("[3]"), linalg::eigh(v));
  MISTAKE("inv", WORDS("singular"), linalg::inv(zeros({2, 2})).eval());
  MISTAKE("cholesky", WORDS("positive definite"), linalg::cholesky(-eye(2)).eval());
  MISTAKE("trace", WORDS("[3]"), trace(v));
  MISTAKE("cross", WORDS("[3, 4]"), linalg::cross(x, x));
}

BOOST_AUTO_TEST_CASE(gradients) {
  Tensor w = tensor({1.0, 2.0}).requires_grad_();
  MISTAKE("backward", WORDS("[2]", "sum()", "mean()"), (w * 2).backward());
  MISTAKE("backward", WORDS("requires_grad_()"), sum(x).backward());
  MISTAKEN("+=", WORDS("no_grad"), w += 1);
  MISTAKEN("*=", WORDS("no_grad"), w(0) *= 2);
  MISTAKEN("assign", WORDS("no_grad"), w(0) = 1);
  Tensor loss = sum(w * w);
  loss.backward();
  MISTAKE("backward", WORDS("retain_graph"), loss.backward());
  MISTAKE("requires_grad_", WORDS("int64"), arange(3).requires_grad_());
  MISTAKE("grad", WORDS("one element", "[2]"), grad([](const Tensor& t) { return t * 2; })(w));
  MISTAKE("grad", WORDS("int64"), grad([](const Tensor& t) { return sum(t); })(i));
  MISTAKE("jvp", WORDS("[3]", "[2]"), jvp([](const Tensor& t) { return t; }, v, ones({2})));
  MISTAKE("linearize", WORDS("[3]", "[2]"),
          linearize([](const Tensor& t) { return t; }, v).second(ones({2})));
}

BOOST_AUTO_TEST_CASE(networks) {
  nn::Linear linear(4, 2);
  nn::Conv2d conv(3, 4, 3);
  nn::BatchNorm2d norm(4);
  nn::Embedding embedding(10, 4);
  MISTAKE("linear", WORDS("[3, 5]", "4"), linear(ones({3, 5})));
  MISTAKE("conv2d", WORDS("[2, 4, 8, 8]", "3"), conv(zeros({2, 4, 8, 8})));
  MISTAKE("conv2d", WORDS("[8, 8]"), conv(zeros({8, 8})));
  MISTAKE("conv2d", WORDS("padding"), conv(zeros({2, 3, 2, 2})));
  MISTAKE("BatchNorm2d", WORDS("[2, 3, 8, 8]", "3", "4"), norm(img));
  MISTAKE("BatchNorm2d", WORDS("[3, 4]"), norm(x));
  MISTAKE("max_pool2d", WORDS("padding"), max_pool2d(zeros({1, 1, 2, 2}), 3));
  MISTAKE("max_pool2d", WORDS("[3]"), max_pool2d(v, 2));
  MISTAKE("avg_pool2d", WORDS("[3]"), avg_pool2d(v, 2));
  MISTAKE("cross_entropy", WORDS("[3, 4]", "[2]"), cross_entropy(x, arange(2)));
  MISTAKE("cross_entropy", WORDS("float32"), cross_entropy(x, v));
  MISTAKE("mse_loss", WORDS("[3, 4]", "[3]"), mse_loss(x, v));
  MISTAKE("nll_loss", WORDS("[3, 4]", "[2]"), nll_loss(x, arange(2)));
  MISTAKE("embedding", WORDS("float32"), embedding(v));
  MISTAKE("embedding", WORDS("12", "10"), embedding(tensor({12})).eval());
  MISTAKE("layer_norm", WORDS("[3, 4]", "[5]"), nn::LayerNorm(5)(x));
  MISTAKE("group_norm", WORDS("3", "2"), group_norm(img, 2));
  MISTAKE("dropout", WORDS("1.5"), dropout(x, 1.5));
  MISTAKE("bernoulli", WORDS("2", "0 to 1"), bernoulli(2.0));
  MISTAKE("MultiheadAttention", WORDS("heads", "5", "2"), nn::MultiheadAttention(5, 2));
  MISTAKE("SGD", WORDS("no parameters"), optim::SGD(std::vector<ParameterRef>{}, 0.1));
  MISTAKE("Adam", WORDS("no parameters"), optim::Adam(nn::ReLU().parameters(), {.lr = 0.1}));
  MISTAKE("SGD", WORDS("-1"), optim::SGD(linear.parameters(), -1.0));
  MISTAKE("load_state_dict", WORDS("weight", "[2, 4]", "[3, 4]"),
          linear.load_state_dict(nn::Linear(4, 3).state_dict()));
  MISTAKE("load_state_dict", WORDS("lacks", "bias"),
          linear.load_state_dict(nn::Linear(4, 2, {.bias = false}).state_dict()));
}

BOOST_AUTO_TEST_CASE(files) {
  MISTAKE("load", WORDS("nowhere.npy", "No such file"), load("nowhere.npy"));
  MISTAKE("imread", WORDS("nowhere.png", "No such file"), imread("nowhere.png"));
  write_csv(path("t.csv"), x);
  MISTAKE("load", WORDS("t.csv", "npy"), load(path("t.csv")));
  MISTAKE("load_safetensors", WORDS("t.csv", "no safetensors file"), load_safetensors(path("t.csv")));
  MISTAKE("imread", WORDS("t.csv", "PNG"), imread(path("t.csv")));
  MISTAKE("write_png", WORDS("float32", "* 255", "uint8"), write_png(path("t.png"), x));
  MISTAKE("imwrite", WORDS("t.gif", ".png"), imwrite(path("t.gif"), x));
  MISTAKE("save", WORDS("nowhere"), save("nowhere/t.npy", x));
  save_npz(path("t.npz"), {{"alpha", x}});
  MISTAKE("", WORDS("alhpa", "alpha"), load_npz(path("t.npz"))["alhpa"]);
  MISTAKE("read_csv", WORDS("nowhere.csv", "No such file"), read_csv("nowhere.csv"));
  MISTAKE("read_idx", WORDS("nowhere", "No such file"), data::read_idx("nowhere"));
}

BOOST_AUTO_TEST_CASE(memory_and_settings) {
  MISTAKE("", WORDS("memory", "GiB", "[300000, 300000]"), (ones({300000, 300000}) + arange(300000)).eval());
  MISTAKE("", WORDS("LAZY_NUM_THREAD", "did you mean LAZY_NUM_THREADS"), config::set("LAZY_NUM_THREAD", "2"));
  MISTAKE("", WORDS("LAZY_NUM_THREADS", "many", "an integer from 0"),
          config::set("LAZY_NUM_THREADS", "many"));
  MISTAKE("", WORDS("no device", "gpu", "cuda"), x.to("gpu"));
}

BOOST_AUTO_TEST_SUITE_END()
