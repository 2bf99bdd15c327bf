#include "tests/emulated_cuda/tests/device.hpp"
#include "tests/emulated_cuda/tests/kernels.hpp"

using namespace emulated_test;

namespace {

const char* const kSteps = R"(
struct Args { float* y; float v; };
extern "C" __global__ void add(const Args args) { args.y[threadIdx.x] += args.v; }
extern "C" __global__ void multiply(const Args args) { args.y[threadIdx.x] *= args.v; }
)";

struct Args {
  float* y;
  float v;
};

/// Holds a node's parameters; they need not outlive the call that takes them.
struct Params {
  Args args;
  void* pointers[1] = {&args};
  KernelNodeParams node;

  Params(Function function, Args a)
      : args(a), node{function, 1, 1, 1, 4, 1, 1, 0, pointers, nullptr, nullptr, nullptr} {}
  Params(const Params&) = delete;
  const KernelNodeParams* get() const { return &node; }
};

GraphNode add_node(Graph graph, std::vector<GraphNode> needs, Function function, Args args) {
  GraphNode node = nullptr;
  Params params(function, args);
  CHECK_CUDA(graph_add_kernel(&node, graph, needs.data(), needs.size(), &params.node));
  return node;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph)

BOOST_AUTO_TEST_CASE(runs_and_takes_new_arguments) {
  for (const char* async : {"0", "1"}) {
    Gpu gpu({{"EMULATED_CUDA_ASYNC", async}, {"EMULATED_CUDA_ORDER", "reverse"}});
    const Program program(kSteps);
    const Function add = program.function("add"), multiply = program.function("multiply");
    Floats y(gpu, {1, 2, 3, 4}), z(gpu, {10, 20, 30, 40});
    Graph graph = nullptr;
    GraphExec exec = nullptr;
    CHECK_CUDA(graph_create(&graph, 0));
    const GraphNode first = add_node(graph, {}, add, {y.pointer(), 1});
    const GraphNode second = add_node(graph, {first}, multiply, {y.pointer(), 2});
    CHECK_CUDA(graph_instantiate(&exec, graph, 0));
    CHECK_CUDA(graph_launch(exec, gpu.stream));
    BOOST_CHECK(y.read() == (std::vector<float>{4, 6, 8, 10}));

    // A launch keeps the arguments it was launched with.
    CHECK_CUDA(graph_launch(exec, gpu.stream));
    CHECK_CUDA(graph_set_kernel(exec, first, Params(add, {z.pointer(), 5}).get()));
    CHECK_CUDA(graph_set_kernel(exec, second, Params(multiply, {z.pointer(), 10}).get()));
    CHECK_CUDA(graph_launch(exec, gpu.stream));
    BOOST_CHECK(y.read() == (std::vector<float>{10, 14, 18, 22}));
    BOOST_CHECK(z.read() == (std::vector<float>{150, 250, 350, 450}));

    BOOST_CHECK_EQUAL(api.graph_set_kernel(exec, first, Params(multiply, {y.pointer(), 1}).get()),
                      kGraphExecUpdateFailure);
    Graph other = nullptr;
    CHECK_CUDA(graph_create(&other, 0));
    const GraphNode stranger = add_node(other, {}, add, {y.pointer(), 1});
    BOOST_CHECK_EQUAL(api.graph_set_kernel(exec, stranger, Params(add, {y.pointer(), 1}).get()),
                      kInvalidValue);
    GraphNode node = nullptr;
    BOOST_CHECK_EQUAL(api.graph_add_kernel(&node, graph, &stranger, 1, Params(add, {y.pointer(), 1}).get()),
                      kInvalidValue);
    BOOST_CHECK_EQUAL(emulated_cuda_count("cuGraphLaunch"), 3);

    CHECK_CUDA(graph_destroy(graph));
    CHECK_CUDA(graph_destroy(other));
    CHECK_CUDA(graph_launch(exec, gpu.stream));  // the graph itself is not needed
    CHECK_CUDA(graph_exec_destroy(exec));
    BOOST_CHECK(z.read() == (std::vector<float>{1550, 2550, 3550, 4550}));
    BOOST_CHECK_EQUAL(api.graph_exec_destroy(exec), kInvalidHandle);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_dependency_shows_in_another_order) {
  const auto result = [](const char* order, bool dependency) {
    Gpu gpu({{"EMULATED_CUDA_ORDER", order}});
    const Program program(kSteps);
    Floats y(gpu, {1, 2, 3, 4});
    Graph graph = nullptr;
    GraphExec exec = nullptr;
    CHECK_CUDA(graph_create(&graph, 0));
    const GraphNode first = add_node(graph, {}, program.function("add"), {y.pointer(), 1});
    add_node(graph, dependency ? std::vector{first} : std::vector<GraphNode>(), program.function("multiply"),
             {y.pointer(), 2});
    CHECK_CUDA(graph_instantiate(&exec, graph, 0));
    CHECK_CUDA(graph_launch(exec, gpu.stream));
    const float value = y.read()[0];
    CHECK_CUDA(graph_exec_destroy(exec));
    CHECK_CUDA(graph_destroy(graph));
    return value;
  };
  BOOST_CHECK_EQUAL(result("forward", false), 4);
  BOOST_CHECK_EQUAL(result("reverse", false), 3);
  BOOST_CHECK_EQUAL(result("reverse", true), 4);
}

BOOST_AUTO_TEST_CASE(limits_are_those_of_launches) {
  Gpu gpu;
  const Program program(kSaxpy);
  Graph graph = nullptr;
  GraphNode node = nullptr;
  CHECK_CUDA(graph_create(&graph, 0));
  SaxpyArgs args{};
  void* pointers[] = {&args};
  KernelNodeParams params{
      program.function("saxpy"), 1, 1, 1, 129, 1, 1, 0, pointers, nullptr, nullptr, nullptr};
  BOOST_CHECK_EQUAL(api.graph_add_kernel(&node, graph, nullptr, 0, &params), kLaunchOutOfResources);
  params.function = nullptr;
  BOOST_CHECK_EQUAL(api.graph_add_kernel(&node, graph, nullptr, 0, &params), kInvalidValue);
  CHECK_CUDA(graph_destroy(graph));
}

BOOST_AUTO_TEST_SUITE_END()
