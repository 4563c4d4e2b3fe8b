/**
 * Python programs that compute max-plus products and distances with the common libraries, in one file. The
 * file takes the name of one program, reads its operands from .npy files, prints the program's version, and
 * answers each call with a line.
 */

/** Programs by their names in the file: the library, the package that it needs, and its name in tables. */
export const programs = {
  numpy_rows: { library: 'NumPy', needs: 'numpy', title: 'NumPy, a row at a time' },
  torch_eager: { library: 'PyTorch', needs: 'torch', title: 'PyTorch, broadcast' },
  torch_compiled: { library: 'PyTorch', needs: 'torch', title: 'PyTorch, torch.compile' },
  triton_tiles: { library: 'Triton', needs: 'triton', title: 'Triton, best of 4 tiles' },
  cupy_tiles: { library: 'CuPy', needs: 'cupy', title: 'CuPy, 30 lines of CUDA' },
  jax_compiled: { library: 'JAX', needs: 'jax', title: 'JAX, jit' },
  scipy_floyd_warshall: { library: 'SciPy', needs: 'scipy', title: "SciPy's floyd_warshall" },
  torch_floyd_warshall: { library: 'PyTorch', needs: 'torch', title: 'PyTorch, a loop over pivots' },
  scipy_dijkstra: { library: 'SciPy', needs: 'scipy', title: 'SciPy' },
  igraph_distances: { library: 'igraph', needs: 'igraph', title: 'igraph' },
  networkx_dijkstra: { library: 'NetworkX', needs: 'networkx', title: 'NetworkX' },
} as const

export type ProgramName = keyof typeof programs

export const source = `
import json, os, sys, time
import numpy

folder, name, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
# JAX would take most of the memory of the GPU otherwise.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
NONE = 2**31 - 1
ways = {}


def way(function):
    ways[function.__name__] = function
    return function


def load(each):
    return numpy.load(f"{folder}/{each}.npy")


def lowest(dtype):
    return -(2**30) if dtype == numpy.int32 else float("-inf")


@way
def numpy_rows():
    a, b = load("a"), load("b")
    c = numpy.empty((a.shape[0], b.shape[1]), a.dtype)

    def call(query):
        for i, row in enumerate(a):
            numpy.max(row[:, None] + b, axis=0, out=c[i])
        return c

    return numpy.__version__, call, lambda c, query: c[query["rows"]]


def in_torch(*arrays):
    import torch

    device = "cuda" if options["cuda"] else "cpu"
    wait = torch.cuda.synchronize if options["cuda"] else lambda: None
    return torch, [torch.from_numpy(array).to(device) for array in arrays], wait


def rows_of_torch(c, query):
    return c[query["rows"]].cpu().numpy()


@way
def torch_eager():
    torch, (a, b), wait = in_torch(load("a"), load("b"))
    # A slab of rows, because all candidates together would be n^3 elements.
    slab = max(1, 2 ** (28 if options["cuda"] else 24) // b.numel())

    def call(query):
        c = torch.cat([(part.unsqueeze(2) + b).amax(1) for part in a.split(slab)])
        wait()
        return c

    return torch.__version__, call, rows_of_torch


@way
def torch_compiled():
    torch, (a, b), wait = in_torch(load("a"), load("b"))
    product = torch.compile(lambda x, y: (x.unsqueeze(2) + y.unsqueeze(0)).amax(1), dynamic=False)

    def call(query):
        c = product(a, b)
        wait()
        return c

    return torch.__version__, call, rows_of_torch


@way
def triton_tiles():
    global triton, tl
    import triton
    import triton.language as tl

    # A is stored transposed, so that both loads of a step are contiguous.
    torch, (at, b), wait = in_torch(numpy.ascontiguousarray(load("a").T), load("b"))
    k, m = at.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=b.dtype, device=b.device)
    tiles = ((64, 64, 8, 4), (128, 64, 8, 8), (128, 128, 8, 8), (128, 128, 16, 16))
    configs = [
        triton.Config({"TILE_M": rows, "TILE_N": cols, "STEPS": steps}, num_warps=warps, num_stages=1)
        for rows, cols, steps, warps in tiles
    ]

    @triton.autotune(configs=configs, key=["M", "N", "K"])
    @triton.jit
    def max_plus(
        at, b, c, M, N, K, LOWEST: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, STEPS: tl.constexpr
    ):
        rows = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
        cols = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
        best = tl.full((TILE_M, TILE_N), LOWEST, dtype=c.dtype.element_ty)
        left = at + rows
        right = b + cols
        # K is a multiple of all STEPS.
        for _ in range(0, K, STEPS):
            for step in tl.static_range(0, STEPS):
                x = tl.load(left + step * M, mask=rows < M, other=LOWEST)
                y = tl.load(right + step * N, mask=cols < N, other=0)
                best = tl.maximum(best, x[:, None] + y[None, :])
            left += STEPS * M
            right += STEPS * N
        tl.store(c + rows[:, None] * N + cols[None, :], best, mask=(rows[:, None] < M) & (cols[None, :] < N))

    def grid(meta):
        return triton.cdiv(n, meta["TILE_N"]), triton.cdiv(m, meta["TILE_M"])

    least = lowest(load("a").dtype)

    def call(query):
        max_plus[grid](at, b, c, m, n, k, LOWEST=least)
        wait()
        return c

    return triton.__version__, call, rows_of_torch


# Tiles of 128 x 128 in shared memory, 8 x 8 results per thread; sizes are multiples of 128.
CUDA = """
extern "C" __global__ void max_plus(const element* a, const element* b, element* c, int n) {
  __shared__ element left[16][129], right[16][128];
  const int col = threadIdx.x % 16, row = threadIdx.x / 16;
  const size_t top = blockIdx.y * 128, start = blockIdx.x * 128;
  element best[8][8];
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) best[i][j] = LOWEST;
  for (int k = 0; k < n; k += 16) {
    for (int at = threadIdx.x; at < 128 * 16; at += 256) {
      left[at % 16][at / 16] = a[(top + at / 16) * n + k + at % 16];
      right[at / 128][at % 128] = b[(size_t)(k + at / 128) * n + start + at % 128];
    }
    __syncthreads();
    #pragma unroll
    for (int step = 0; step < 16; step++) {
      element x[8], y[8];
      #pragma unroll
      for (int i = 0; i < 8; i++) x[i] = left[step][row + 16 * i], y[i] = right[step][col + 16 * i];
      #pragma unroll
      for (int i = 0; i < 8; i++)
        #pragma unroll
        for (int j = 0; j < 8; j++) best[i][j] = max(best[i][j], x[i] + y[j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) c[(top + row + 16 * i) * n + start + col + 16 * j] = best[i][j];
}
"""


@way
def cupy_tiles():
    import cupy

    a, b = cupy.asarray(load("a")), cupy.asarray(load("b"))
    n = len(a)
    c = cupy.empty((n, n), a.dtype)
    kind = ("int", "-1073741824") if a.dtype == numpy.int32 else ("float", "-__int_as_float(0x7f800000)")
    # A type, because a macro would replace names in the compiler's own headers, too.
    types = f"typedef {kind[0]} element;\\n"
    kernel = cupy.RawKernel(types + CUDA, "max_plus", options=(f"-DLOWEST={kind[1]}",))

    def call(query):
        kernel((n // 128, n // 128), (256,), (a, b, c, numpy.int32(n)))
        cupy.cuda.runtime.deviceSynchronize()
        return c

    return cupy.__version__, call, lambda c, query: cupy.asnumpy(c[query["rows"]])


@way
def jax_compiled():
    import jax
    import jax.numpy as jnp

    a, b = jnp.asarray(load("a")), jnp.asarray(load("b"))
    product = jax.jit(lambda x, y: jnp.max(x[:, :, None] + y[None, :, :], axis=1))

    def call(query):
        return product(a, b).block_until_ready()

    return jax.__version__, call, lambda c, query: numpy.asarray(c)[query["rows"]]


@way
def scipy_floyd_warshall():
    import scipy
    from scipy.sparse.csgraph import floyd_warshall

    weights = load("weights")
    graph = weights.astype(numpy.float64)
    graph[weights == NONE] = numpy.inf
    return scipy.__version__, lambda query: floyd_warshall(graph), finite_of


def finite_of(distances, query):
    return numpy.where(numpy.isinf(distances), NONE, distances).astype(numpy.int32)


@way
def torch_floyd_warshall():
    # No path and an edge together are an int32 still.
    far = 2**29
    torch, (graph,), wait = in_torch(numpy.minimum(load("weights"), far))

    def call(query):
        distances = graph.clone()
        distances.fill_diagonal_(0)
        for pivot in range(len(distances)):
            torch.minimum(distances, distances[:, pivot : pivot + 1] + distances[pivot], out=distances)
        wait()
        return distances

    def read(distances, query):
        found = distances.cpu().numpy()
        return numpy.where(found >= far, NONE, found).astype(numpy.int32)

    return torch.__version__, call, read


def edges():
    return [load(each).ravel() for each in ("from", "to", "weight")]


def as_floats(distances, query):
    return numpy.array(distances, dtype=numpy.float64)


@way
def scipy_dijkstra():
    import scipy
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    begin, end, weight = edges()
    graph = csr_matrix((weight.astype(numpy.float64), (begin, end)), shape=(options["nodes"],) * 2)

    def call(query):
        distances = dijkstra(graph, indices=query["sources"])
        return distances if query["targets"] is None else distances[:, query["targets"]]

    return scipy.__version__, call, as_floats


@way
def igraph_distances():
    import igraph

    begin, end, weight = edges()
    graph = igraph.Graph(n=options["nodes"], edges=numpy.stack((begin, end), axis=1), directed=True)
    graph.es["weight"] = weight.tolist()

    def call(query):
        return graph.distances(source=query["sources"], target=query["targets"], weights="weight", mode="out")

    return igraph.__version__, call, as_floats


@way
def networkx_dijkstra():
    import networkx

    graph = networkx.DiGraph()
    graph.add_nodes_from(range(options["nodes"]))
    graph.add_weighted_edges_from(zip(*(each.tolist() for each in edges())))

    def call(query):
        distances = numpy.full((len(query["sources"]), options["nodes"]), numpy.inf)
        for row, source in enumerate(query["sources"]):
            for node, length in networkx.single_source_dijkstra_path_length(graph, source).items():
                distances[row, node] = length
        return distances if query["targets"] is None else distances[:, query["targets"]]

    return networkx.__version__, call, as_floats


def tell(answer):
    print(json.dumps(answer), file=answers, flush=True)


# What libraries print doesn't come between the answers.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
try:
    started = time.perf_counter()
    version, call, read = ways[name]()
    tell({"version": version, "ms": 1000 * (time.perf_counter() - started)})
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        result = call(request["query"])
        ms = 1000 * (time.perf_counter() - started)
        if request["save"]:
            numpy.save(f"{folder}/{name}.npy", read(result, request["query"]))
        tell({"ms": ms})
except Exception as error:
    tell({"failed": f"{type(error).__name__}: {error}"})
`
