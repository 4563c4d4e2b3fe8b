// Operand reads of the MPMML kernel: through shared memory (MEMSEL 0), or directly from global memory into registers
// (MEMSEL 1). Lines are rows of A or columns of B.
#pragma once
#include "core/algebra/arithmetic.h"

namespace mpmml::cuda {

/// A vector of N operands, loaded and stored in as few accesses as its alignment allows.
template <class T, int N>
struct alignas(sizeof(T) * N % 16 == 0  ? 16
               : sizeof(T) * N % 8 == 0 ? 8
                                        : sizeof(T)) Pack {
  T values[N];
};

/// Lines of an operand that a block's tile of C needs.
template <class Element>
struct Panel {
  const Element* data;
  int64_t line_stride, k_stride;
  int64_t lines;  ///< number of existing lines
  Element border;
};

/// Layout of a thread's patch along one dimension of the tile: kValues lines in sub-patches of kSub lines. The
/// sub-patches of kCount threads alternate (block-cyclic).
template <int kValues_, int kSub_, int kCount_>
struct Patch {
  static constexpr int kValues = kValues_, kSub = kSub_, kCount = kCount_;
  static constexpr int kExtent = kValues * kCount;

  static __device__ __forceinline__ int line(int value, int thread) {
    return (value / kSub * kCount + thread) * kSub + value % kSub;
  }
};

constexpr int largest_power_of_two_in(int value) { return value & -value; }

/// Tiles of depth kDepth pass through shared memory, k-major, so that a thread reads a sub-patch's operands as one
/// vector. kName distinguishes the tiles of two operands of equal shape. Neighbouring threads copy neighbours in k
/// (kAlongK) or neighbouring lines; the reads are coalesced if the matrix is stored in that order.
template <class Arithmetic, class Patch, int kDepth, int kThreads, bool kAlongK, int kName>
class SharedOperand {
 public:
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  static constexpr bool kShared = true;

  __device__ __forceinline__ SharedOperand(const Arithmetic& arithmetic, const Panel<Element>& panel, int thread)
      : arithmetic_(arithmetic), panel_(panel), thread_(thread) {
    panel_.data += line() * panel.line_stride + k() * panel.k_stride;
  }

  /// Copies the next tile. Only its first `depth` k-steps exist; elements outside the operand get the padding value.
  __device__ __forceinline__ void copy(int64_t depth) {
    Operand(&tile)[kDepth][kPitch] = storage();
    if (panel_.lines >= Patch::kExtent && depth >= kDepth) {
#pragma unroll
      for (int i = 0; i < Patch::kExtent; i += kLineStep) {
#pragma unroll
        for (int j = 0; j < kDepth; j += kKStep) {
          tile[k() + j][line() + i] = arithmetic_.encode(panel_.data[i * panel_.line_stride + j * panel_.k_stride]);
        }
      }
    } else {
      const Operand border = arithmetic_.encode(panel_.border);
#pragma unroll 1
      for (int i = 0; i < Patch::kExtent; i += kLineStep) {
#pragma unroll 1
        for (int j = 0; j < kDepth; j += kKStep) {
          const bool inside = line() + i < panel_.lines && k() + j < depth;
          tile[k() + j][line() + i] =
              inside ? arithmetic_.encode(panel_.data[i * panel_.line_stride + j * panel_.k_stride]) : border;
        }
      }
    }
    panel_.data += kDepth * panel_.k_stride;
  }

  /// Loads the thread's operands at k-step `k` of the tile.
  __device__ __forceinline__ void read(Operand (&fragment)[Patch::kValues], int k) {
    const Operand* row = storage()[k];
#pragma unroll
    for (int patch = 0; patch < Patch::kValues; patch += Patch::kSub) {
      const auto pack = *reinterpret_cast<const Pack<Operand, Patch::kSub>*>(row + Patch::line(patch, thread_));
#pragma unroll
      for (int value = 0; value < Patch::kSub; ++value) fragment[patch + value] = pack.values[value];
    }
  }

 private:
  // Pitch that avoids bank conflicts of the transposing stores of a tile. The padding of 16 bytes keeps rows aligned
  // for vector loads.
  static constexpr int kPitch = Patch::kExtent + 16 / int{sizeof(Operand)};
  static constexpr int kFast = kAlongK ? kDepth : largest_power_of_two_in(Patch::kExtent);
  static constexpr int kAcross = kFast < kThreads ? kFast : kThreads;
  static constexpr int kLineStep = kAlongK ? kThreads / kAcross : kAcross;
  static constexpr int kKStep = kAlongK ? kAcross : kThreads / kAcross;
  static_assert(Patch::kExtent % kLineStep == 0 && kDepth % kKStep == 0, "a tile is copied in equal shares");

  static __device__ __forceinline__ int line() { return kAlongK ? threadIdx.x / kAcross : threadIdx.x % kAcross; }
  static __device__ __forceinline__ int k() { return kAlongK ? threadIdx.x % kAcross : threadIdx.x / kAcross; }

  static __device__ __forceinline__ Operand (&storage()) [kDepth][kPitch] {
    __shared__ alignas(16) Operand tile[kDepth][kPitch];
    return tile;
  }

  const Arithmetic& arithmetic_;
  Panel<Element> panel_;
  int thread_;
};

/// Operands that each thread reads directly from global memory. Lines beyond the last one are clamped to it, because
/// their results aren't stored.
template <class Arithmetic, class Patch>
class GlobalOperand {
 public:
  using Element = typename Arithmetic::Element;
  using Operand = typename Arithmetic::Operand;
  static constexpr bool kShared = false;

  __device__ __forceinline__ GlobalOperand(const Arithmetic& arithmetic, const Panel<Element>& panel, int thread)
      : arithmetic_(arithmetic), k_stride_(panel.k_stride) {
#pragma unroll
    for (int value = 0; value < Patch::kValues; ++value) {
      const auto line = min(int64_t{Patch::line(value, thread)}, panel.lines - 1);
      data_[value] = panel.data + line * panel.line_stride;
    }
  }

  __device__ __forceinline__ void copy(int64_t) {}

  /// Loads the thread's operands at the next k-step.
  __device__ __forceinline__ void read(Operand (&fragment)[Patch::kValues], int) {
#pragma unroll
    for (int value = 0; value < Patch::kValues; ++value) {
      fragment[value] = arithmetic_.encode(*data_[value]);
      data_[value] += k_stride_;
    }
  }

 private:
  const Arithmetic& arithmetic_;
  const Element* data_[Patch::kValues];
  int64_t k_stride_;
};

}  // namespace mpmml::cuda
