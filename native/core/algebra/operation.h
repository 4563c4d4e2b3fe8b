// Operation of a product, apart from its matrices. Kernels include this header, so it includes nothing of the host.
#pragma once
#include <cstdint>

#include "generated/semirings.h"

namespace mpmml {

/// Treatment of a result whose deciding sum is finite but outside the semiring's finite range (Semiring::can_overflow).
enum class OverflowPolicy : uint8_t { kThrow, kSaturate, kWrap };
constexpr const char* kOverflowPolicyNames[] = {"throw", "saturate", "wrap"};

/// Semiring, element type, and policy for sums outside that type.
struct Operation {
  SemiringId semiring = SemiringId{};
  DataType dtype = DataType::kInt32;
  OverflowPolicy overflow = OverflowPolicy::kThrow;
};

}  // namespace mpmml
