#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "core/host/workspace.h"
#include "core/problem/layout.h"
#include "core/rna/rna_answer.h"
#include "core/rna/triangle.h"
#include "cuda/device/error.h"
#include "cuda/kernels/rna.cuh"
#include "cuda/runtime/lane.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/rna.h"

namespace mpmml::cuda {
namespace {

using rna::Closed;
using rna::kBlock;
using rna::kThreads;
using rna::Pairs;
using rna::Shape;

/// Most strands that are folded by the same launches: the second dimension of a grid.
constexpr size_t kMostStrands = 65535;

/// Tables begin where vectors can.
constexpr int64_t kAlignment = 256;

Pairs pairs_of(const PairScores& scores, int64_t min_loop) {
  Pairs pairs{};
  for (int i = 0; i < 16; ++i) pairs.of[i] = scores.of[i / 4][i % 4];
  pairs.min_loop = static_cast<int>(min_loop);
  return pairs;
}

/// With at least so many blocks to close, one group of threads for each keeps the device busy: 1 000 strands of 500 bases take
/// 5 ms instead of 13. With fewer, four groups take two thirds of the time: 16 × 750 bases (H200).
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

/// What of the device's memory may be used.
double room_on(int device, int64_t most) {
  const DeviceMemory memory = device_memory(device);
  const auto free = static_cast<double>(memory.free);
  return most > 0 ? std::min(static_cast<double>(most), free) : free;
}

/// A copy of host values in device memory.
template <class T>
class Copied {
 public:
  Copied(const std::vector<T>& values, Lane& lane)
      : buffer_(static_cast<int64_t>(values.size() * sizeof(T)), lane.device(), lane.compute(0)) {
    // From pageable memory it is copied when this returns.
    MPMML_CUDA(cudaMemcpyAsync(buffer_.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                               lane.compute(0)));
  }
  const T* get() const { return static_cast<const T*>(buffer_.get()); }

 private:
  DeviceBuffer buffer_;
};

/// Strands that are folded alone, all by the same launches.
template <class Score>
class Folded {
 public:
  struct Item {
    const Strand* strand;
    int64_t reach;
  };

  Folded(const std::vector<Item>& items, const PairScores& scores, int64_t min_loop, Lane& lane)
      : items_(items), scores_(scores), min_loop_(min_loop), lane_(lane) {
    std::vector<int64_t> rows;
    std::vector<uint8_t> bases;
    std::vector<size_t> rows_at, bases_at;
    for (const Item& item : items) {
      const Triangle& shape = shapes_.emplace_back(static_cast<int64_t>(item.strand->size()), item.reach);
      rows_at.push_back(rows.size());
      bases_at.push_back(bases.size());
      for (int64_t block = 0; block < shape.blocks(); ++block) rows.push_back(shape.row(block * kBlock));
      bases.insert(bases.end(), static_cast<size_t>(shape.padding()), 0);
      bases.insert(bases.end(), item.strand->begin(), item.strand->end());
      bases.push_back(0);
      at_.push_back(bytes_);
      bytes_ += round_up(shape.elements() * int64_t{sizeof(Score)}, kAlignment);
      blocks_ = std::max(blocks_, shape.blocks());
    }
    rows_ = std::make_unique<Copied<int64_t>>(rows, lane);
    bases_ = std::make_unique<Copied<uint8_t>>(bases, lane);
    tables_ = DeviceBuffer(bytes_, lane.device(), lane.compute(0));
    for (size_t index = 0; index < items.size(); ++index) {
      const Triangle& shape = shapes_[index];
      const auto reach = round_up(std::min<int64_t>(items[index].reach, items[index].strand->size()), kBlock);
      auto* const table = reinterpret_cast<Score*>(static_cast<char*>(tables_.get()) + at_[index]);
      closed_.push_back({{static_cast<int>(shape.positions()), static_cast<int>(shape.padding()),
                          static_cast<int>(reach), rows_->get() + rows_at[index]},
                         table,
                         table,
                         bases_->get() + bases_at[index]});
    }
    on_device_ = std::make_unique<Copied<Closed<Score>>>(closed_, lane);
  }

  void run(const Watch& watch, double share) {
    const cudaStream_t stream = lane_.compute(0);
    const auto count = static_cast<unsigned>(items_.size());
    const Pairs pairs = pairs_of(scores_, min_loop_);
    rna::clear_strands<Score><<<dim3(64, count), kThreads, 0, stream>>>(on_device_->get());
    for (int64_t distance = 0; distance < blocks_; ++distance) {
      check_cancelled(watch);
      const dim3 grid(static_cast<unsigned>(blocks_ - distance), count);
      launch_closing(
          [&](auto groups) {
            constexpr int count = decltype(groups)::value;
            rna::close_strands<Score, count>
                <<<grid, count * kThreads, 0, stream>>>(on_device_->get(), pairs, static_cast<int>(distance));
          },
          grid);
      if (distance % 32 == 31) MPMML_CUDA(cudaStreamSynchronize(stream));
    }
    host_ = std::make_unique<Workspace>(static_cast<size_t>(bytes_));
    MPMML_CUDA(cudaMemcpyAsync(host_->data(), tables_.get(), bytes_, cudaMemcpyDeviceToHost, stream));
    MPMML_CUDA(cudaStreamSynchronize(stream));
    count_done(watch, share);
  }

  /// Where a strand's table is on the device.
  const Closed<Score>& closed(size_t index) const { return closed_[index]; }
  const Triangle& shape(size_t index) const { return shapes_[index]; }

  /// After run().
  auto trace(size_t index) const {
    const auto* const table = reinterpret_cast<const Score*>(static_cast<const char*>(host_->data()) + at_[index]);
    const auto score = [table, &shape = shapes_[index]](int64_t a, int64_t b) -> int32_t {
      return table[shape.at(a, b)];
    };
    return FoldTrace(*items_[index].strand, scores_, min_loop_, score);
  }

 private:
  const std::vector<Item> items_;
  const PairScores& scores_;
  const int64_t min_loop_;
  Lane& lane_;
  std::vector<Triangle> shapes_;
  std::vector<int64_t> at_;
  int64_t bytes_ = 0, blocks_ = 0;
  std::unique_ptr<Copied<int64_t>> rows_;
  std::unique_ptr<Copied<uint8_t>> bases_;
  DeviceBuffer tables_;
  std::vector<Closed<Score>> closed_;
  std::unique_ptr<Copied<Closed<Score>>> on_device_;
  std::unique_ptr<Workspace> host_;
};

double bytes_of(const Strand& strand, int64_t reach, bool wide) {
  const auto n = static_cast<double>(strand.size()) + kBlock,
             r = static_cast<double>(std::min<int64_t>(reach, strand.size()));
  return (n * (r + 2 * kBlock) + kAlignment) * (wide ? 4 : 2);
}

/// Calls `body` with a lane, whose streams are idle afterwards.
template <class Body>
auto with_lane(int device, Body body) {
  const LaneHandle lane = take_lane(device);
  struct Idle {
    Lane& lane;
    ~Idle() {
      lane.quiesce();
      lane.reset();
    }
  } idle{*lane};
  return body(*lane);
}

template <class Score>
std::vector<Folding> fold_all(const FoldRequest& request, double room, Lane& lane) {
  std::vector<Folding> results(request.strands.size());
  double work = 0;
  for (const Strand& strand : request.strands) work += static_cast<double>(strand.size());
  for (size_t first = 0; first < request.strands.size();) {
    std::vector<typename Folded<Score>::Item> items;
    double bytes = 0, bases = 0;
    for (size_t next = first; next < request.strands.size() && items.size() < kMostStrands; ++next) {
      const Strand& strand = request.strands[next];
      const auto length = static_cast<int64_t>(strand.size());
      const double more = bytes_of(strand, length, request.wide);
      if (!items.empty() && bytes + more > std::min(room, request.most_bytes)) break;
      bytes += more;
      bases += static_cast<double>(strand.size());
      items.push_back({&strand, length});
    }
    require_room(bytes, std::min(room, request.most_bytes), "take shorter strands");
    Folded<Score> folded(items, request.within, request.min_loop, lane);
    folded.run(request.watch, work > 0 ? bases / work : 0);
    for (size_t index = 0; index < items.size(); ++index) {
      results[first + index] =
          answer_fold(request, static_cast<int64_t>(items[index].strand->size()), folded.trace(index));
    }
    first += items.size();
  }
  return results;
}

/// All tables of an interaction, on the device. Those that a structure is traced through are copied when they are first
/// looked at.
template <class Score>
class InteractionTables {
 public:
  InteractionTables(const InteractionRequest& request, Lane& lane, double room)
      : request_(request),
        lane_(lane),
        n_(static_cast<int64_t>(request.strand1.size())),
        strands_({{&request.strand1, n_}, {&request.strand2, request.reach}}, request.within, request.min_loop, lane),
        each_(round_up(strands_.shape(1).elements(), kAlignment)),
        host_(static_cast<size_t>(n_ * (n_ + 1) / 2)) {
    require_room(static_cast<double>(each_) * sizeof(Score) * static_cast<double>(host_.size()), room,
                 "take shorter strands, a window of the longer one, or the CPU");
    tables_ = DeviceBuffer(each_ * int64_t{sizeof(Score)} * static_cast<int64_t>(host_.size()), lane.device(),
                           lane.compute(0));
  }

  void fill() {
    strands_.run(request_.watch, 0);
    const Copied<short2> tiles(tiles_of(), lane_);
    const cudaStream_t stream = lane_.compute(0);
    const Pairs within = pairs_of(request_.within, request_.min_loop),
                between = pairs_of(request_.between, request_.min_loop);
    const rna::Tables<Score> all = arguments();
    const double steps = std::max(steps_of(request_), 1.0);
    double last = 0;
    Event* before = nullptr;
    for (int64_t length = 1; length <= n_; ++length) {
      check_cancelled(request_.watch);
      const int64_t tables = n_ - length + 1;
      rna::multiply<Score><<<static_cast<unsigned>(tile_count_ * tables), kThreads, 0, stream>>>(
          all, within, between, static_cast<int>(length), tiles.get());
      close(all, within, length, tables);
      // One length is queued while the device computes the one before.
      Event& now = lane_.event(true);
      now.record(stream);
      if (before) before->wait();
      count_done(request_.watch, last);
      last = static_cast<double>(tables) * steps_of(request_, length) / steps;
      before = &now;
    }
    MPMML_CUDA(cudaStreamSynchronize(stream));
    count_done(request_.watch, last);
  }

  int32_t operator()(int64_t a1, int64_t b1, int64_t a2, int64_t b2) {
    auto& copy = host_[static_cast<size_t>(number(a1, b1))];
    if (!copy) {
      check_cancelled(request_.watch);
      const int64_t bytes = strands_.shape(1).elements() * int64_t{sizeof(Score)};
      auto memory = std::make_unique<Workspace>(static_cast<size_t>(bytes));
      const Score* const from = static_cast<const Score*>(tables_.get()) + number(a1, b1) * each_;
      MPMML_CUDA(cudaMemcpyAsync(memory->data(), from, bytes, cudaMemcpyDeviceToHost, lane_.compute(0)));
      MPMML_CUDA(cudaStreamSynchronize(lane_.compute(0)));
      copy = std::move(memory);
    }
    return static_cast<const Score*>(copy->data())[strands_.shape(1).at(a2, b2)];
  }

  auto fold1() const { return strands_.trace(0); }
  auto fold2() const { return strands_.trace(1); }

 private:
  int64_t number(int64_t a, int64_t b) const { return a * n_ - a * (a - 1) / 2 + b - a - 1; }

  rna::Tables<Score> arguments() const {
    const Closed<Score>&first = strands_.closed(0), &second = strands_.closed(1);
    return {second.shape, static_cast<Score*>(tables_.get()),
            each_,        static_cast<int>(n_),
            second.table, first.table,
            first.shape,  first.bases,
            second.bases};
  }

  /// First row and first column of the tiles of a table, deepest first.
  std::vector<short2> tiles_of() {
    using Tile = rna::Product<Score>;
    const Triangle& shape = strands_.shape(1);
    std::vector<short2> tiles;
    for (int64_t col = shape.positions() - Tile::kColumns; col > -Tile::kColumns; col -= Tile::kColumns) {
      for (int64_t row = 0; row < std::min<int64_t>(shape.positions(), col + Tile::kColumns); row += Tile::kRows) {
        if (col >= shape.end_column(std::min(row / kBlock + 1, shape.blocks() - 1))) continue;
        tiles.push_back(make_short2(static_cast<short>(row), static_cast<short>(col)));
      }
    }
    std::stable_sort(tiles.begin(), tiles.end(), [](short2 x, short2 y) { return x.y - x.x > y.y - y.x; });
    tile_count_ = static_cast<int64_t>(tiles.size());
    return tiles;
  }

  void close(const rna::Tables<Score>& all, const Pairs& within, int64_t length, int64_t tables) {
    const Triangle& shape = strands_.shape(1);
    for (int64_t distance = 0; distance < shape.blocks(); ++distance) {
      if (distance * kBlock >= shape.end_column(0)) break;
      const dim3 grid(static_cast<unsigned>(shape.blocks() - distance), static_cast<unsigned>(tables));
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
  Lane& lane_;
  const int64_t n_;
  Folded<Score> strands_;
  const int64_t each_;  ///< elements of a table
  DeviceBuffer tables_;
  int64_t tile_count_ = 0;
  std::vector<std::unique_ptr<Workspace>> host_;
};

template <class Score>
Interactions interact_as(const InteractionRequest& request, double room, Lane& lane) {
  InteractionTables<Score> tables(request, lane, room);
  tables.fill();
  const auto score = [&](int64_t a1, int64_t b1, int64_t a2, int64_t b2) { return tables(a1, b1, a2, b2); };
  return answer_interaction(request, tables.fold1(), tables.fold2(), score);
}

}  // namespace

std::vector<Folding> fold(const FoldRequest& request, int device, int64_t most_device_bytes) {
  const double room = room_on(device, most_device_bytes);
  return with_lane(device, [&](Lane& lane) {
    return request.wide ? fold_all<int32_t>(request, room, lane) : fold_all<int16_t>(request, room, lane);
  });
}

Interactions interact(const InteractionRequest& request, int device, int64_t most_device_bytes) {
  // Rows and columns take 16 bits in the list of tiles.
  constexpr size_t most = 32000;
  if (request.strand1.size() > most || request.strand2.size() > most) {
    throw Error(ErrorCode::kShape, "on a GPU strands that interact must have at most 32000 bases: take the CPU");
  }
  const double room = room_on(device, most_device_bytes);
  return with_lane(device, [&](Lane& lane) {
    return request.wide ? interact_as<int32_t>(request, room, lane) : interact_as<int16_t>(request, room, lane);
  });
}

}  // namespace mpmml::cuda
