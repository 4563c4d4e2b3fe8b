// What is computed, apart from the matrices. Kernels know of it too, so nothing of the host is included here.
#pragma once
#include <cstdint>

#include "generated/semirings.h"

namespace mpmml {

/// What to do if a finite sum decides a result and is outside the finite range of the semiring
/// (Semiring::can_overflow).
enum class OverflowPolicy : uint8_t { kThrow, kSaturate, kWrap };
constexpr const char* kOverflowPolicyNames[] = {"throw", "saturate", "wrap"};

/// What is computed: the semiring, the element type, and what happens to sums that leave that type.
struct Operation {
  SemiringId semiring = SemiringId{};
  DataType dtype = DataType::kInt32;
  OverflowPolicy overflow = OverflowPolicy::kThrow;
};

}  // namespace mpmml
