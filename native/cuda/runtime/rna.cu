#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/host/workspace.h"
#include "core/problem/layout.h"
#include "core/rna/rna_answer.h"
#include "core/rna/triangle.h"
#include "cuda/device/error.h"
#include "cuda/kernels/rna.cuh"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/memory_reservation.h"
#include "cuda/runtime/rna.h"

namespace mpmml::cuda {
namespace {

using rna::FoldingTask;
using rna::kBlock;
using rna::kThreads;
using rna::Pairs;

/// Limit of the strands that are folded by one sequence of launches: the second dimension of a grid.
constexpr size_t kMaxStrands = 65535;

/// A device, and the limit of its memory in bytes; 0: all free memory.
struct Device {
  int index;
  int64_t limit;

  /// Returns the bytes that a computation can use if no other runs.
  int64_t capacity() const { return std::max(unreserved_threshold(limit), device_capacity(index, limit)); }
};

/// Calls `body` with a lane and an arena of `bytes` bytes, at most the capacity of the device, as soon as other
/// computations leave that amount. Waits until the lane's streams are idle, and then frees the memory.
template <class Body>
auto run_on(const Device& device, int64_t bytes, const CancellationToken& watch, Body body) {
  const MemoryReservation reserved =
      bytes <= unreserved_threshold(device.limit)
          ? MemoryReservation()
          : reserve(device.index, {bytes}, device.limit, [&] { return watch.is_cancelled(); });
  const LaneHandle lane = take_lane(device.index);
  struct IdleSession {
    Lane& lane;
    ~IdleSession() {
      lane.quiesce();
      lane.reset();
    }
  } idle{*lane};
  ScratchArena scratch(bytes, device.index, lane->compute(0));
  return body(*lane, scratch);
}

template <class T>
int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<int64_t>(values.size() * sizeof(T));
}

template <class T>
const T* copy_to(ScratchArena& scratch, const std::vector<T>& values, cudaStream_t stream) {
  const int64_t bytes = bytes_of(values);
  void* const copy = scratch.take(bytes);
  // A copy from pageable memory has been staged when the call returns.
  MPMML_CUDA(cudaMemcpyAsync(copy, values.data(), bytes, cudaMemcpyHostToDevice, stream));
  return static_cast<const T*>(copy);
}

Pairs pairs_of(const PairScores& scores, int64_t min_loop) {
  Pairs pairs{};
  for (int i = 0; i < 16; ++i) pairs.of[i] = scores.of[i / 4][i % 4];
  pairs.min_loop = static_cast<int>(min_loop);
  return pairs;
}

/// Number of blocks to close from which one group of threads per block keeps the device busy: 1 000 strands of 500
/// bases take 5 ms instead of 13 (H200). With fewer blocks, four groups per block take two thirds of the time: 16 × 750
/// bases (H200).
constexpr unsigned kManyBlocks = 1024;

template <class Launch>
void launch_closing(Launch launch, dim3 grid) {
  if (grid.x * grid.y >= kManyBlocks) {
    launch(std::integral_constant<int, 1>());
  } else {
    launch(std::integral_constant<int, 4>());
  }
  MPMML_CUDA(cudaGetLastError());
}

/// Device memory of the launches that fold strands, in bytes: tables, offsets of the rows of blocks, bases by position,
/// and descriptors of the strands.
template <class Score>
struct FoldBytes {
  int64_t tables = 0, rows = 0, bases = 0, strands = 0;

  static int64_t of_table(const Triangle& shape) {
    return ScratchArena::piece(shape.elements() * int64_t{sizeof(Score)});
  }
  FoldBytes with(const Triangle& shape) const {
    return {tables + of_table(shape), rows + shape.blocks() * int64_t{sizeof(int64_t)}, bases + shape.positions(),
            strands + int64_t{sizeof(FoldingTask<Score>)}};
  }
  int64_t all() const {
    return ScratchArena::piece(tables) + ScratchArena::piece(rows) + ScratchArena::piece(bases) +
           ScratchArena::piece(strands);
  }
};

/// Strands that are folded by one sequence of launches, with one launch for each diagonal of blocks.
template <class Score>
struct FoldPlan {
  struct Item {
    const Strand* strand;
    Triangle shape;
    int64_t table_at;  ///< in bytes
  };
  std::vector<Item> items;
  FoldBytes<Score> bytes;
  int64_t launches = 0;
  int64_t blocks = 0;  ///< rows of blocks of the longest strand

  void add(const Strand& strand, Triangle shape) {
    launches = std::max(launches, shape.diagonals());
    blocks = std::max(blocks, shape.blocks());
    const int64_t table_at = bytes.tables;
    bytes = bytes.with(shape);
    items.push_back({&strand, std::move(shape), table_at});
  }
};

/// The strands of a plan, each folded alone.
template <class Score>
class Folded {
 public:
  Folded(const FoldPlan<Score>& plan, const PairScores& scores, int64_t min_loop)
      : plan_(plan), scores_(scores), min_loop_(min_loop) {}

  /// Folds the strands, with the plan's bytes from the arena. `share` is the fraction of all work, for the progress.
  /// The tables are on the host, too, when it returns.
  void run(Lane& lane, ScratchArena& scratch, const CancellationToken& watch, double share) {
    const cudaStream_t stream = lane.compute(0);
    void* const tables = scratch.take(plan_.bytes.tables);
    const FoldingTask<Score>* const strands = describe(static_cast<char*>(tables), scratch, stream);
    const auto count = static_cast<unsigned>(plan_.items.size());
    const Pairs pairs = pairs_of(scores_, min_loop_);
    rna::clear_strands<Score><<<dim3(64, count), kThreads, 0, stream>>>(strands);
    for (int64_t distance = 0; distance < plan_.launches; ++distance) {
      watch.look();
      const dim3 grid(static_cast<unsigned>(plan_.blocks - distance), count);
      launch_closing(
          [&](auto groups) {
            constexpr int count = decltype(groups)::value;
            rna::close_strands<Score, count>
                <<<grid, count * kThreads, 0, stream>>>(strands, pairs, static_cast<int>(distance));
          },
          grid);
      if (distance % 32 == 31) MPMML_CUDA(cudaStreamSynchronize(stream));
    }
    host_.emplace(plan_.bytes.tables);
    MPMML_CUDA(cudaMemcpyAsync(host_->data(), tables, plan_.bytes.tables, cudaMemcpyDeviceToHost, stream));
    MPMML_CUDA(cudaStreamSynchronize(stream));
    watch.add(share);
  }

  /// Returns a strand's table on the device, which is valid during the lifetime of the arena.
  const FoldingTask<Score>& closed(size_t index) const { return closed_[index]; }

  /// Traces a structure. Must be called after run().
  auto trace(size_t index) const {
    const auto& item = plan_.items[index];
    const auto* const table = reinterpret_cast<const Score*>(static_cast<const char*>(host_->data()) + item.table_at);
    const auto score = [table, &item](int64_t a, int64_t b) -> int32_t { return table[item.shape.at(a, b)]; };
    return FoldTrace(*item.strand, scores_, min_loop_, score);
  }

 private:
  /// Copies the descriptors of the strands to the device, and returns their address.
  const FoldingTask<Score>* describe(char* tables, ScratchArena& scratch, cudaStream_t stream) {
    std::vector<int64_t> rows;
    std::vector<uint8_t> bases;
    for (const auto& item : plan_.items) {
      for (int64_t block = 0; block < item.shape.blocks(); ++block) rows.push_back(item.shape.row(block * kBlock));
      bases.insert(bases.end(), static_cast<size_t>(item.shape.padding()), 0);
      bases.insert(bases.end(), item.strand->begin(), item.strand->end());
      bases.push_back(0);
    }
    const int64_t* first_row = copy_to(scratch, rows, stream);
    const uint8_t* first_base = copy_to(scratch, bases, stream);
    for (const auto& item : plan_.items) {
      auto* const table = reinterpret_cast<Score*>(tables + item.table_at);
      closed_.push_back({{item.shape.sizes(), first_row}, table, table, first_base});
      first_row += item.shape.blocks();
      first_base += item.shape.positions();
    }
    return copy_to(scratch, closed_, stream);
  }

  const FoldPlan<Score>& plan_;
  const PairScores& scores_;
  const int64_t min_loop_;
  std::vector<FoldingTask<Score>> closed_;
  std::optional<Workspace> host_;  ///< copy of the tables
};

template <class Score>
std::vector<Folding> fold_all(const FoldRequest& request, const Device& device) {
  int64_t longest = 0, bases = 0;
  for (const Strand& strand : request.strands) {
    const auto length = static_cast<int64_t>(strand.size());
    longest = std::max(longest, length);
    bases += length;
  }
  // The host needs memory for all tables of a plan, too.
  const auto most = static_cast<int64_t>(std::min(static_cast<double>(device.capacity()), request.max_bytes));
  require_room(FoldBytes<Score>().with(Triangle(longest, longest)).all(), most, "take shorter strands");
  std::vector<Folding> results;
  while (results.size() < request.strands.size()) {
    FoldPlan<Score> plan;
    double share = 0;
    for (size_t next = results.size(); next < request.strands.size() && plan.items.size() < kMaxStrands; ++next) {
      const auto length = static_cast<int64_t>(request.strands[next].size());
      Triangle shape(length, length);
      if (plan.bytes.with(shape).all() > most) break;
      plan.add(request.strands[next], std::move(shape));
      share += static_cast<double>(length) / static_cast<double>(std::max<int64_t>(bases, 1));
    }
    Folded<Score> folded(plan, request.within, request.min_loop);
    run_on(device, plan.bytes.all(), request.watch,
           [&](Lane& lane, ScratchArena& scratch) { folded.run(lane, scratch, request.watch, share); });
    for (size_t index = 0; index < plan.items.size(); ++index) {
      const auto length = static_cast<int64_t>(plan.items[index].strand->size());
      results.push_back(answer_fold(request, length, folded.trace(index)));
    }
  }
  return results;
}

/// Plan of an interaction. Each length of intervals of strand 1 has one launch for the products of all its tables, and
/// one launch for each diagonal of blocks to close them.
template <class Score>
struct InteractionPlan {
  explicit InteractionPlan(const InteractionRequest& request) : n(static_cast<int64_t>(request.strand1.size())) {
    strands.add(request.strand1, Triangle(n, n));
    strands.add(request.strand2, Triangle(static_cast<int64_t>(request.strand2.size()), request.reach));
    find_tiles();
  }

  const int64_t n;  ///< bases of strand 1
  FoldPlan<Score> strands;
  std::vector<short2> tiles;  ///< tiles of a table, by first row and first column: deepest first

  /// Shape of a table.
  const Triangle& shape() const { return strands.items[1].shape; }
  int64_t tables() const { return count_of_intervals(n); }
  int64_t table_bytes() const { return FoldBytes<Score>::of_table(shape()); }
  /// Required device memory in bytes.
  int64_t bytes() const {
    return strands.bytes.all() + ScratchArena::piece(tables() * table_bytes()) + ScratchArena::piece(bytes_of(tiles));
  }

 private:
  void find_tiles() {
    using Tile = rna::Product<Score>;
    const int64_t end = shape().positions();
    for (int64_t col = end - Tile::kColumns; col > -Tile::kColumns; col -= Tile::kColumns) {
      for (int64_t row = 0; row < std::min<int64_t>(end, col + Tile::kColumns); row += Tile::kRows) {
        if (col >= shape().end_column(std::min(row / kBlock + 1, shape().blocks() - 1))) continue;
        tiles.push_back(make_short2(static_cast<short>(row), static_cast<short>(col)));
      }
    }
    std::stable_sort(tiles.begin(), tiles.end(), [](short2 x, short2 y) { return x.y - x.x > y.y - y.x; });
  }
};

/// All tables of an interaction, on the device. The traceback copies a table to the host when it first reads it.
template <class Score>
class InteractionTables {
 public:
  InteractionTables(const InteractionRequest& request, const InteractionPlan<Score>& plan, Lane& lane)
      : request_(request),
        plan_(plan),
        lane_(lane),
        strands_(plan.strands, request.within, request.min_loop),
        host_(static_cast<size_t>(plan.tables())) {}

  /// Computes the tables, with the plan's bytes from the arena.
  void fill(ScratchArena& scratch) {
    strands_.run(lane_, scratch, request_.watch, 0);
    const cudaStream_t stream = lane_.compute(0);
    tables_ = static_cast<Score*>(scratch.take(plan_.tables() * plan_.table_bytes()));
    const short2* const tiles = copy_to(scratch, plan_.tiles, stream);
    const Pairs within = pairs_of(request_.within, request_.min_loop),
                between = pairs_of(request_.between, request_.min_loop);
    const rna::Tables<Score> all{strands_.closed(0), strands_.closed(1), tables_, elements(),
                                 static_cast<int>(plan_.n)};
    const double steps = std::max(steps_of(request_), 1.0);
    double last = 0;
    Event* before = nullptr;
    for (int64_t length = 1; length <= plan_.n; ++length) {
      request_.watch.look();
      const int64_t tables = plan_.n - length + 1, blocks = static_cast<int64_t>(plan_.tiles.size()) * tables;
      rna::multiply<Score><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(all, within, between,
                                                                                   static_cast<int>(length), tiles);
      close(all, within, length, tables);
      // One length is queued while the device computes the previous one.
      Event& now = lane_.event(true);
      now.record(stream);
      if (before) before->wait();
      request_.watch.add(last);
      last = static_cast<double>(tables) * steps_of(request_, length) / steps;
      before = &now;
    }
    MPMML_CUDA(cudaStreamSynchronize(stream));
    request_.watch.add(last);
  }

  int32_t operator()(int64_t a1, int64_t b1, int64_t a2, int64_t b2) {
    const int64_t number = number_of_interval(plan_.n, a1, b1);
    auto& copy = host_[static_cast<size_t>(number)];
    if (!copy) {
      request_.watch.look();
      const int64_t bytes = plan_.table_bytes();
      auto memory = std::make_unique<Workspace>(bytes);
      MPMML_CUDA(cudaMemcpyAsync(memory->data(), tables_ + number * elements(), bytes, cudaMemcpyDeviceToHost,
                                 lane_.compute(0)));
      MPMML_CUDA(cudaStreamSynchronize(lane_.compute(0)));
      copy = std::move(memory);
    }
    return static_cast<const Score*>(copy->data())[plan_.shape().at(a2, b2)];
  }

  auto fold1() const { return strands_.trace(0); }
  auto fold2() const { return strands_.trace(1); }

 private:
  /// Stride between tables, in elements.
  int64_t elements() const { return plan_.table_bytes() / static_cast<int64_t>(sizeof(Score)); }

  void close(const rna::Tables<Score>& all, const Pairs& within, int64_t length, int64_t tables) {
    for (int64_t distance = 0; distance < plan_.shape().diagonals(); ++distance) {
      const dim3 grid(static_cast<unsigned>(plan_.shape().blocks() - distance), static_cast<unsigned>(tables));
      launch_closing(
          [&](auto groups) {
            constexpr int count = decltype(groups)::value;
            rna::close_interaction<Score, count><<<grid, count * kThreads, 0, lane_.compute(0)>>>(
                all, within, static_cast<int>(length), static_cast<int>(distance));
          },
          grid);
    }
  }

  const InteractionRequest& request_;
  const InteractionPlan<Score>& plan_;
  Lane& lane_;
  Folded<Score> strands_;
  Score* tables_ = nullptr;
  std::vector<std::unique_ptr<Workspace>> host_;
};

template <class Score>
Interactions interact_as(const InteractionRequest& request, const Device& device) {
  const InteractionPlan<Score> plan(request);
  require_room(plan.bytes(), device.capacity(), "take shorter strands, a window of the longer one, or the CPU");
  return run_on(device, plan.bytes(), request.watch, [&](Lane& lane, ScratchArena& scratch) {
    InteractionTables<Score> tables(request, plan, lane);
    tables.fill(scratch);
    const auto score = [&](int64_t a1, int64_t b1, int64_t a2, int64_t b2) { return tables(a1, b1, a2, b2); };
    return answer_interaction(request, tables.fold1(), tables.fold2(), score);
  });
}

}  // namespace

std::vector<Folding> fold(const FoldRequest& request, int device, int64_t max_device_bytes) {
  const Device on{device, max_device_bytes};
  return request.wide ? fold_all<int32_t>(request, on) : fold_all<int16_t>(request, on);
}

Interactions interact(const InteractionRequest& request, int device, int64_t max_device_bytes) {
  // Rows and columns take 16 bits in the list of tiles.
  constexpr size_t most = 32000;
  if (request.strand1.size() > most || request.strand2.size() > most) {
    throw Error(ErrorCode::kShape, "on a GPU strands that interact must have at most 32000 bases: take the CPU");
  }
  const Device on{device, max_device_bytes};
  return request.wide ? interact_as<int32_t>(request, on) : interact_as<int16_t>(request, on);
}

}  // namespace mpmml::cuda
