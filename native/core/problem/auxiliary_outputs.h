// What a product gives beside C, if it is asked for. What only moves, clears or counts these results goes through the table
// here, so that a further one is a field and a row.
#pragma once
#include <cstdint>
#include <iterator>

#include "core/algebra/sentinels.h"
#include "core/problem/layout.h"

namespace mpmml {

/// M × N, int32, in any memory that C may be in. Data is null of those that aren't asked for.
struct FurtherResults {
  /// Which k decides each element of C: see Problem and UserProduct.
  MutableMatrixView witness;
};

constexpr DataType kFurtherType = DataType::kInt32;
constexpr int64_t kFurtherBytes = element_bytes(kFurtherType);

/// A name, because the host's compiler warns of how nvcc writes the type itself.
using FurtherView = MutableMatrixView FurtherResults::*;

struct FurtherResult {
  FurtherView view;
  const char* name;  ///< in messages
  int32_t none;      ///< of an element of C that is no result, or that nothing decides
};

constexpr FurtherResult kFurtherResults[] = {{&FurtherResults::witness, "the witness", kNoWitness}};
constexpr size_t kFurtherCount = std::size(kFurtherResults);

/// Calls visit(result) for each that is asked for.
template <class Visit>
void for_further(const FurtherResults& of, Visit&& visit) {
  for (const FurtherResult& it : kFurtherResults) {
    if ((of.*it.view).data) visit(it);
  }
}

/// A bit for each that is asked for.
inline uint32_t further_asked(const FurtherResults& of) {
  uint32_t asked = 0;
  for (size_t index = 0; index < kFurtherCount; ++index) {
    asked |= uint32_t{(of.*kFurtherResults[index].view).data != nullptr} << index;
  }
  return asked;
}

inline int32_t& further_at(const MutableMatrixView& view, int64_t item, int64_t row, int64_t col) {
  return static_cast<int32_t*>(view.data)[item * view.batch_stride + row * view.row_stride + col * view.col_stride];
}

}  // namespace mpmml
