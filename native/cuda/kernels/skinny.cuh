// The thin family: products of an operand with few lines (rows of A or columns of B) and one with many, which takes longer
// to read than to compute with. It is read once, where it is, with any strides, straight into registers.
//
// A block computes the results of BM lines of the operand with few, and of as many of the other as fill 128 bytes. Its
// warps share K: with each pass they go through BK steps. A thread holds a part of the other operand: neighbours in memory,
// whichever of its lines or its steps are. What it needs of the operand with few lines comes from shared memory. While a
// pass is computed, the operands of the next are on their way to registers. In the end all threads combine their results.
//
// ⊗ commutes in every semiring of the table, so B ⊗ A takes the place of A ⊗ B if B is the operand with few lines.
#pragma once
#include "cuda/kernels/single_tile.cuh"

namespace mpmml::cuda {

template <class Config, class Arithmetic, bool kStepsAreNear>
__global__ void thin_kernel(DeviceProblem problem, Arithmetic arithmetic, bool few_are_columns);

template <int BM_, int BK_>
struct SkinnyConfig {
  static constexpr int BM = BM_, BK = BK_, kThreads = 512, kWarps = kThreads / 32;
  /// Neighbours that a thread reads at once, and how often it does so in a pass.
  template <class Element>
  static constexpr int kChunk = chunk_elements(sizeof(Element));
  static constexpr int kReads = 8 * BK / kThreads;
  /// Lines of the operand with many that a block goes through.
  template <class Element>
  static constexpr int kLines = 8 * kChunk<Element>;
  static_assert(kReads * kThreads == 8 * BK && kReads % 4 == 0, "a thread reads of four lines, or of as many steps");
};

/// The part of a pass that a thread computes.
template <class Config, class Element, bool kStepsAreNear>
struct ThreadTile {
  static constexpr int kChunk = Config::template kChunk<Element>, kReads = Config::kReads;
  static constexpr int kLines = kStepsAreNear ? 4 : kChunk;
  static constexpr int kSteps = kStepsAreNear ? kReads / kLines * kChunk : kReads;
  /// Warps that share lines.
  static constexpr int kSlices =
      kStepsAreNear ? Config::kWarps * kLines / Config::template kLines<Element> : Config::kWarps;
  /// Lanes that share lines: every kNextLane-th from the lane of that number on.
  static constexpr int kNextLane = kStepsAreNear ? 1 : 8;

  int line, step;  ///< the first ones, among those of the block and of the pass
  int slice;
  bool stores;  ///< whether it holds what its warp has combined

  __device__ __forceinline__ explicit ThreadTile(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    if (kStepsAreNear) {
      line = warp / kSlices * kLines;
      slice = warp % kSlices;
      step = (slice * 32 + lane) * kSteps;
    } else {
      line = lane % 8 * kChunk;
      slice = warp;
      step = (slice * 4 + lane / 8) * kSteps;
    }
    stores = lane < kNextLane;
  }
};

/// The elements of a pass that a thread reads of the operand with many lines. Those outside it are borders.
template <class Config, class Arithmetic, bool kStepsAreNear>
class WideOperandReader {
 public:
  using S = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  using Part = ThreadTile<Config, Element, kStepsAreNear>;

  __device__ __forceinline__ WideOperandReader(const SmallOperand& operand, int64_t first_line, int64_t lines,
                                               int64_t k, const Part& part, Element border)
      : near_(kStepsAreNear ? operand.k_stride : operand.line_stride),
        far_(kStepsAreNear ? operand.line_stride : operand.k_stride),
        next_(operand.k_stride * Config::BK),
        lines_(static_cast<int>(min(max(lines - first_line - part.line, int64_t{0}), int64_t{Part::kLines}))),
        steps_(k - part.step),
        border_(border),
        storage_(operand.storage),
        place_(operand.first + (first_line + part.line) * operand.line_stride + part.step * operand.k_stride),
        data_(operand.data) {
    const uintptr_t strides = (far_ | next_ | place_) * sizeof(Element);
    reads_chunks_ = storage_ == Storage::kElement && near_ == 1 &&
                    (reinterpret_cast<uintptr_t>(data_) | strides) % sizeof(Near) == 0;
  }

  /// Starts reading the next pass.
  __device__ __forceinline__ void read() {
    const int steps = static_cast<int>(min(steps_, int64_t{Part::kSteps}));
#pragma unroll
    for (int read = 0; read < Part::kReads; ++read) {
      // Lines come first, then further steps of them.
      const int line = kStepsAreNear ? read % Part::kLines : 0,
                step = kStepsAreNear ? read / Part::kLines * kChunk : read;
      const int64_t place = place_ + (kStepsAreNear ? line * far_ + step * near_ : step * far_);
      const int near_left = kStepsAreNear ? steps - step : lines_,
                far_left = kStepsAreNear ? lines_ - line : steps - step;
      Near& chunk = chunks_[read];
      if (reads_chunks_ && near_left >= kChunk && far_left > 0) {
        chunk = *reinterpret_cast<const Near*>(static_cast<const Element*>(data_) + place);
      } else {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) {
          chunk.values[v] = v < near_left && far_left > 0 ? element_at<S>(data_, storage_, place + v * near_) : border_;
        }
      }
    }
    place_ += next_;
    steps_ -= Config::BK;
  }

  /// What read() has read: [line][step].
  __device__ __forceinline__ void take(Operand (&operands)[Part::kLines][Part::kSteps],
                                       const Arithmetic& arithmetic) const {
#pragma unroll
    for (int read = 0; read < Part::kReads; ++read) {
#pragma unroll
      for (int v = 0; v < kChunk; ++v) {
        const int line = kStepsAreNear ? read % Part::kLines : v,
                  step = kStepsAreNear ? read / Part::kLines * kChunk + v : read;
        operands[line][step] = arithmetic.encode(chunks_[read].values[v]);
      }
    }
  }

 private:
  static constexpr int kChunk = Part::kChunk;
  using Near = Chunk<Element, kChunk>;

  const int64_t near_, far_, next_;
  const int lines_;
  int64_t steps_;
  const Element border_;
  const Storage storage_;
  bool reads_chunks_;
  int64_t place_;
  const void* const data_;
  Near chunks_[Part::kReads];
};

/// The same of the operand with few lines, which all threads of a block read together, into shared memory.
template <class Config, class Arithmetic>
class SkinnyOperandReader {
 public:
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  /// Lines are apart, so that columns can be written with fewer bank conflicts.
  static constexpr int kPitch = Config::BK + chunk_elements(sizeof(Operand));

  __device__ __forceinline__ SkinnyOperandReader(const SmallOperand& operand, int64_t first_line, int64_t lines,
                                                 int64_t k, int thread, Element border)
      : operand_(operand),
        first_line_(first_line),
        lines_(static_cast<int>(min(lines - first_line, int64_t{Config::BM}))),
        k_(k),
        along_steps_(operand.k_stride <= operand.line_stride),
        thread_(thread),
        border_(border) {
    const int64_t near = along_steps_ ? operand.k_stride : operand.line_stride,
                  far = along_steps_ ? operand.line_stride : operand.k_stride;
    const uintptr_t places = (far | operand.first) * sizeof(Element);
    reads_chunks_ = operand.storage == Storage::kElement && near == 1 &&
                    (reinterpret_cast<uintptr_t>(operand.data) | places) % sizeof(Near) == 0;
  }

  __device__ __forceinline__ void read() {
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
      const bool all_exist = line(share, kChunk - 1) < lines_ && first_k_ + step(share, kChunk - 1) < k_;
      if (reads_chunks_ && all_exist) {
        chunks_[share] = *reinterpret_cast<const Near*>(static_cast<const Element*>(operand_.data) + place(share, 0));
      } else {
#pragma unroll
        for (int v = 0; v < kChunk; ++v) chunks_[share].values[v] = element(share, v);
      }
    }
    first_k_ += Config::BK;
  }
  __device__ __forceinline__ void write(Operand* shared, const Arithmetic& arithmetic) const {
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
#pragma unroll
      for (int v = 0; v < kChunk; ++v) {
        shared[line(share, v) * kPitch + step(share, v)] = arithmetic.encode(chunks_[share].values[v]);
      }
    }
  }

 private:
  static constexpr int kChunk = Config::template kChunk<Element>;
  static constexpr int kShares = Config::BM * Config::BK / (Config::kThreads * kChunk);
  static_assert(Config::BM * Config::BK % (Config::kThreads * kChunk) == 0, "equal shares");
  using Near = Chunk<Element, kChunk>;

  /// Neighbours are steps of a line, or lines of a step.
  __device__ __forceinline__ int index(int share, int v) const {
    return (share * Config::kThreads + thread_) * kChunk + v;
  }
  __device__ __forceinline__ int line(int share, int v) const {
    return along_steps_ ? index(share, v) / Config::BK : index(share, v) % Config::BM;
  }
  __device__ __forceinline__ int step(int share, int v) const {
    return along_steps_ ? index(share, v) % Config::BK : index(share, v) / Config::BM;
  }
  __device__ __forceinline__ int64_t place(int share, int v) const {
    return operand_.first + (first_line_ + line(share, v)) * operand_.line_stride +
           (first_k_ + step(share, v)) * operand_.k_stride;
  }
  __device__ __forceinline__ Element element(int share, int v) const {
    if (line(share, v) >= lines_ || first_k_ + step(share, v) >= k_) return border_;
    return element_at<typename Arithmetic::Semiring>(operand_.data, operand_.storage, place(share, v));
  }

  const SmallOperand operand_;
  const int64_t first_line_;
  const int lines_;
  const int64_t k_;
  const bool along_steps_;
  bool reads_chunks_;
  const int thread_;
  const Element border_;
  int64_t first_k_ = 0;
  Near chunks_[kShares];
};

/// The grid's dimensions are the lines of the operand with many, those of the one with few, and instances.
template <class Config, class Arithmetic, bool kStepsAreNear>
__global__ void __launch_bounds__(Config::kThreads)
    thin_kernel(DeviceProblem problem, Arithmetic arithmetic, bool few_are_columns) {
  using S = typename Arithmetic::Semiring;
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  using Accumulator = typename Arithmetic::Accumulator;
  using Part = ThreadTile<Config, Element, kStepsAreNear>;
  using ScalarTile = SkinnyOperandReader<Config, Arithmetic>;
  constexpr int BM = Config::BM, kLines = Config::template kLines<Element>;
  // Two passes of the operand with few lines, and then what slices have accumulated.
  union Memory {
    Operand few[2][BM * ScalarTile::kPitch];
    Accumulator sums[Part::kSlices][BM][kLines];
  };
  __shared__ __align__(16) unsigned char bytes[sizeof(Memory)];
  Memory& shared = *reinterpret_cast<Memory*>(bytes);

  const int64_t instance = blockIdx.z, first_few = int64_t{blockIdx.y} * BM, first_many = int64_t{blockIdx.x} * kLines;
  const SmallOperand of_a = operand_of<Side::kA>(problem, instance), of_b = operand_of<Side::kB>(problem, instance);
  const int64_t few_lines = few_are_columns ? problem.n : problem.m, many = few_are_columns ? problem.m : problem.n;
  const Part part(threadIdx.x);
  ScalarTile few(few_are_columns ? of_b : of_a, first_few, few_lines, problem.k, threadIdx.x,
                 few_are_columns ? S::border_b : S::border_a);
  WideOperandReader<Config, Arithmetic, kStepsAreNear> reader(
      few_are_columns ? of_a : of_b, first_many, many, problem.k, part, few_are_columns ? S::border_a : S::border_b);
  Accumulator acc[BM][Part::kLines];
#pragma unroll
  for (auto& line : acc) {
#pragma unroll
    for (Accumulator& sum : line) sum = arithmetic.initial();
  }
  if (problem.k > 0) {
    reader.read();
    few.read();
  }
  int turn = 0;
  for (int64_t left = problem.k; left > 0; left -= Config::BK, turn ^= 1) {
    few.write(shared.few[turn], arithmetic);
    Operand operands[Part::kLines][Part::kSteps];
    reader.take(operands, arithmetic);
    // Nobody reads the other buffer anymore once all are here.
    __syncthreads();
    if (left > Config::BK) {
      reader.read();
      few.read();
    }
#pragma unroll
    for (int line = 0; line < BM; ++line) {
      Operand of_few[Part::kSteps];
      load_shared(of_few, shared.few[turn] + line * ScalarTile::kPitch + part.step);
#pragma unroll
      for (int other = 0; other < Part::kLines; ++other) {
#pragma unroll
        for (int step = 0; step < Part::kSteps; ++step) {
          acc[line][other] = Arithmetic::accumulate(acc[line][other], of_few[step], operands[other][step]);
        }
      }
    }
  }

#pragma unroll
  for (auto& line : acc) {
#pragma unroll
    for (Accumulator& sum : line) {
#pragma unroll
      for (int lanes = Part::kNextLane; lanes < 32; lanes *= 2) {
        sum = S::combine(sum, __shfl_xor_sync(~0u, sum, lanes));
      }
    }
  }
  __syncthreads();
  if (part.stores) {
#pragma unroll
    for (int line = 0; line < BM; ++line) {
#pragma unroll
      for (int other = 0; other < Part::kLines; ++other) {
        shared.sums[part.slice][line][part.line + other] = acc[line][other];
      }
    }
  }
  __syncthreads();
  const Epilogue<Arithmetic> epilogue(problem, arithmetic, instance);
  for (int index = threadIdx.x; index < BM * kLines; index += Config::kThreads) {
    const int line = index / kLines, other = index % kLines;
    Accumulator sum = shared.sums[0][line][other];
#pragma unroll
    for (int slice = 1; slice < Part::kSlices; ++slice) sum = S::combine(sum, shared.sums[slice][line][other]);
    const int64_t of_few = first_few + line, of_many = first_many + other;
    if (of_few >= few_lines || of_many >= many) continue;
    if (few_are_columns) {
      epilogue.store(of_many, of_few, sum);
    } else {
      epilogue.store(of_few, of_many, sum);
    }
  }
}

}  // namespace mpmml::cuda
