#include <algorithm>

#include "core/algebra/dispatch.h"
#include "cuda/device/error.h"
#include "cuda/kernels/edge_rounds.cuh"
#include "cuda/runtime/edge_rounds.h"
#include "cuda/runtime/ranked_choice.h"
#include "cuda/runtime/resident.h"

namespace mpmml::cuda {
namespace {

/// Cost of a round in reads of every row, for its launches and its pass over the edge list. It bounds the number of
/// rounds on graphs with long best paths, in which few rows change per round. Random graphs take up to 24 rounds.
constexpr double kReadsOfRound = 4;
/// Limit of the blocks that count the changed rows of a round.
constexpr int64_t kMaxCounting = 128;

/// Copies `count` values to the host synchronously.
template <class T>
void read_back(T* to, const void* from, int count, cudaStream_t stream) {
  MPMML_CUDA(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  MPMML_CUDA(cudaStreamSynchronize(stream));
}

/// The graph of a closure on the device: edge list and state of the rounds.
template <class S>
class ListedGraph {
 public:
  ListedGraph(SessionDevice& device, const EssentialEdges& edges, int64_t listed)
      : d_(edges.d),
        n_(edges.d.rows),
        stream_(device.stream()),
        stripes_(ceil_div(n_, int64_t{kStripe})),
        nodes_(device.workspace(n_ * int64_t{sizeof(EdgesOfNode)})),
        edges_(device.workspace(std::max<int64_t>(listed, 1) * int64_t{sizeof(ListedEdge)})),
        changed_(device.workspace(2 * stripes_ * n_)),
        state_(device.workspace(sizeof(RoundState))) {
    auto* const used = static_cast<uint32_t*>(state_.get());
    MPMML_CUDA(cudaMemsetAsync(used, 0, sizeof(*used), stream_));
    list_edges_kernel<S><<<blocks(), kRoundThreads, 0, stream_>>>(edges.weights, read_only(d_), nodes(),
                                                                  static_cast<ListedEdge*>(edges_.get()), used);
    MPMML_CUDA(cudaGetLastError());
  }

  /// Runs kRoundsTogether rounds, and waits for their outcome.
  RoundState run_rounds() {
    MPMML_CUDA(cudaMemsetAsync(state_.get(), 0, sizeof(RoundState), stream_));
    for (int round = 0; round < kRoundsTogether; ++round, ++rounds_) queue(round);
    RoundState state;
    read_back(&state, state_.get(), 1, stream_);
    return state;
  }

  int64_t stripes() const { return stripes_; }

 private:
  unsigned blocks() const { return static_cast<unsigned>(n_); }
  EdgesOfNode* nodes() const { return static_cast<EdgesOfNode*>(nodes_.get()); }
  uint8_t* changed(int64_t round) const { return static_cast<uint8_t*>(changed_.get()) + round % 2 * stripes_ * n_; }

  void queue(int round) {
    auto* const state = static_cast<RoundState*>(state_.get());
    const unsigned* const go_on = round > 0 ? &state->changed[round - 1] : nullptr;
    const dim3 grid(static_cast<unsigned>(ceil_div(n_, int64_t{kRowsOfBlock})), static_cast<unsigned>(stripes_));
    relax_kernel<S><<<grid, kRoundThreads, 0, stream_>>>(d_, nodes(), static_cast<const ListedEdge*>(edges_.get()),
                                                         rounds_ > 0 ? changed(rounds_ - 1) : nullptr, changed(rounds_),
                                                         go_on);
    MPMML_CUDA(cudaGetLastError());
    const int64_t flags = stripes_ * n_;
    const int64_t counting = std::min<int64_t>(ceil_div(flags, int64_t{kRoundThreads}), kMaxCounting);
    count_changed_kernel<<<static_cast<unsigned>(counting), kRoundThreads, 0, stream_>>>(changed(rounds_), flags, go_on,
                                                                                         &state->changed[round]);
    MPMML_CUDA(cudaGetLastError());
  }

  const MutableMatrixView d_;
  const int64_t n_;
  const cudaStream_t stream_;
  const int64_t stripes_;
  const DeviceBuffer nodes_, edges_, changed_, state_;
  int64_t rounds_ = 0;
};

}  // namespace

Equal EdgeRounds::count_equal(const Operation& operation, const MatrixView& a, const MatrixView& b) {
  device_.enter();
  const cudaStream_t stream = device_.stream();
  unsigned long long counts[2];
  const DeviceBuffer memory = device_.workspace(sizeof(counts));
  MPMML_CUDA(cudaMemsetAsync(memory.get(), 0, sizeof(counts), stream));
  with_semiring_that<IsIntegerSum>(operation.semiring, operation.dtype, [&](auto semiring) {
    count_equal_kernel<decltype(semiring)><<<static_cast<unsigned>(a.rows), kRoundThreads, 0, stream>>>(
        a, b, static_cast<unsigned long long*>(memory.get()));
  });
  MPMML_CUDA(cudaGetLastError());
  read_back(counts, memory.get(), 2, stream);
  return {static_cast<int64_t>(counts[0]), static_cast<int64_t>(counts[1])};
}

bool EdgeRounds::has_fast_square(const Operation& operation, const MatrixView& a) {
  device_.enter();
  return has_few_pairs(operation, a, a, a.rows, device_.device(), device_.stream());
}

bool EdgeRounds::relax(const EssentialEdges& edges) {
  const int64_t listed = count_equal(edges.operation, edges.weights, read_only(edges.d)).elements;
  if (listed > edges.max_edges) return false;
  const int64_t n = edges.d.rows;
  return with_semiring_that<IsIntegerSum>(edges.operation.semiring, edges.operation.dtype, [&](auto semiring) {
    ListedGraph<decltype(semiring)> graph(device_, edges, listed);
    mark_written(edges.d, DataType::kInt32, 1, unbounded());
    const double reads_per_row = static_cast<double>(listed) / static_cast<double>(n);
    double reads = static_cast<double>(listed);
    while (reads <= static_cast<double>(edges.max_reads)) {
      if (is_set(edges.cancelled)) throw aborted();
      const RoundState state = graph.run_rounds();
      if (state.changed[kRoundsTogether - 1] == 0) return true;
      for (const unsigned changed : state.changed)
        reads +=
            kReadsOfRound * static_cast<double>(n) + reads_per_row * changed / static_cast<double>(graph.stripes());
    }
    return false;
  });
}

}  // namespace mpmml::cuda
