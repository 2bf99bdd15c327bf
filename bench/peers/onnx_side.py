"""onnxruntime: each row is written as a model of one graph, which a session then optimises and runs."""

import numpy as np

from library import Library, in_dtype

OPSET = 23


class Value:
    """A name in the graph that is being made; operators append nodes."""

    def __init__(self, graph, name):
        self.graph, self.name = graph, name

    def node(self, op, *others, **attributes):
        return self.graph.node(op, self, *others, **attributes)

    def __add__(self, o):
        return self.node("Add", o)

    def __mul__(self, o):
        return self.node("Mul", o)

    def __rmul__(self, o):
        return self.node("Mul", o)

    def __sub__(self, o):
        return self.node("Sub", o)

    def __rsub__(self, o):
        return self.graph.node("Sub", o, self)

    def __truediv__(self, o):
        return self.node("Div", o)

    def __le__(self, o):
        return self.node("LessOrEqual", o)

    def __gt__(self, o):
        return self.node("Greater", o)

    def __lt__(self, o):
        return self.node("Less", o)

    def __and__(self, o):
        return self.node("And", o)

    @property
    def T(self):
        return self.node("Transpose", perm=[1, 0])


class Graph:
    def __init__(self, onnx, dtype):
        self.onnx, self.dtype, self.nodes, self.constants, self.count = onnx, dtype, [], [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, x):
        name = self.name()
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(x, self.dtype if not isinstance(x, np.ndarray) else None), name))
        return name

    def node(self, op, *operands, **attributes):
        names = [o.name if isinstance(o, Value) else self.constant(o) for o in operands]
        out = self.name()
        self.nodes.append(self.onnx.helper.make_node(op, names, [out], **attributes))
        return Value(self, out)


class OnnxRuntime(Library):
    def __init__(self, threads):
        import onnx
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self.onnx, self.runtime, self.threads = onnx, onnxruntime, threads

    def about(self):
        return f"onnxruntime {self.runtime.__version__}; its own products (MLAS)"

    def array(self, x):
        return self.runtime.OrtValue.ortvalue_from_numpy(x)

    def typed(self, x, dtype):
        if dtype == "bfloat16":
            raise NotImplementedError("no bfloat16 on this device")
        return self.array(in_dtype(x, dtype))

    def plain(self, x):
        return x.numpy()

    def compiled(self, f):
        state = {}

        def run(*inputs):
            if not state:
                state["session"] = self.session(f, inputs)
            session, binding = state["session"]
            session.run_with_iobinding(binding)
            return binding.get_outputs()

        return run

    def session(self, f, inputs):
        """Makes the model and binds inputs and outputs: nothing is copied at a call."""
        onnx, plain = self.onnx, [x.numpy() for x in inputs]
        self.graph = Graph(onnx, plain[0].dtype)
        values = [Value(self.graph, f"x{i}") for i in range(len(inputs))]
        results = f(*values)
        results = results if isinstance(results, tuple) else (results,)
        as_info = lambda v, x: onnx.helper.make_tensor_value_info(v.name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        outs = [onnx.helper.make_empty_tensor_value_info(r.name) for r in results]
        graph = onnx.helper.make_graph(self.graph.nodes, "row", [as_info(v, x) for v, x in zip(values, plain)], outs,
                                       initializer=self.graph.constants)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        session = self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for v, x in zip(values, inputs):
            binding.bind_ortvalue_input(v.name, x)
        for r in results:
            binding.bind_output(r.name, "cpu")
        return session, binding

    # What workloads.py and typed.py call.

    def exp(self, x):
        return x.node("Exp")

    def log(self, x):
        return x.node("Log")

    def sqrt(self, x):
        return x.node("Sqrt")

    def erf(self, x):
        return x.node("Erf")

    def rsqrt(self, x):
        return x.node("Sqrt").node("Reciprocal")

    def relu(self, x):
        return x.node("Relu")

    def gelu(self, x):
        return x.node("Gelu")

    def sigmoid(self, x):
        return x.node("Sigmoid")

    def where(self, c, a, b):
        return c.node("Where", a, b)

    def mean(self, x, axis, keep):
        return x.node("ReduceMean", np.array([axis], np.int64), keepdims=int(keep))

    def softmax(self, x):
        return x.node("Softmax", axis=-1)

    def logsumexp(self, x):
        return x.node("ReduceLogSumExp", np.array([-1], np.int64), keepdims=0)

    def sum(self, x):
        return x.node("ReduceSum", np.array([-1], np.int64), keepdims=0)

    def row_max(self, x):
        return x.node("ReduceMax", np.array([-1], np.int64), keepdims=0)

    def argmax(self, x):
        return x.node("ArgMax", axis=-1, keepdims=0)

    def layernorm(self, x, w, b):
        return x.node("LayerNormalization", w, b, axis=-1, epsilon=1e-5)

    def matmul(self, a, b):
        return a.node("MatMul", b)

    def matmul_int8(self, a, b):
        return a.node("MatMulInteger", b)

    def float32(self, x):
        return x.node("Cast", to=self.onnx.TensorProto.FLOAT)

    def int8(self, x):
        return x.node("Cast", to=self.onnx.TensorProto.INT8)

    def abs(self, x):
        return x.node("Abs")

    def round(self, x):
        return x.node("Round")

    def max(self, x):
        return x.node("ReduceMax", keepdims=0)

    def transpose(self, x, axes):
        return x.node("Transpose", perm=list(axes))

    def reshape(self, x, shape):
        return x.node("Reshape", np.array(shape, np.int64))

    def attention(self, q, k, v, causal=False):
        return q.node("Attention", k, v, is_causal=int(causal))

    def conv2d(self, x, w, b, layout):
        if layout == "nchw":
            return x.node("Conv", w, b, pads=[1, 1, 1, 1])
        y = self.transpose(x, (0, 3, 1, 2)).node("Conv", w, b, pads=[1, 1, 1, 1])
        return self.transpose(y, (0, 2, 3, 1))
