// Auxiliary outputs: optional results of a product in addition to C. Code that only moves, clears or counts them
// iterates over the table here, so that a new auxiliary output is one field and one row.
#pragma once
#include <cstdint>
#include <iterator>

#include "core/algebra/sentinels.h"
#include "core/problem/layout.h"

namespace mpmml {

/// Auxiliary outputs: M × N, int32, in any memory that C may be in. Data is null for outputs that aren't requested.
struct FurtherResults {
  /// Index k that decides each element of C: see Problem and UserProduct.
  MutableMatrixView witness;
};

constexpr DataType kFurtherType = DataType::kInt32;
constexpr int64_t kFurtherBytes = element_bytes(kFurtherType);

/// The alias avoids a warning of the host compiler about the type as nvcc prints it.
using FurtherView = MutableMatrixView FurtherResults::*;

struct FurtherResult {
  FurtherView view;
  const char* name;  ///< name in messages
  int32_t none;      ///< value for an element of C outside of the structure, or that no candidate decides
};

constexpr FurtherResult kFurtherResults[] = {{&FurtherResults::witness, "the witness", kNoWitness}};
constexpr size_t kFurtherCount = std::size(kFurtherResults);

/// Calls visit(result) for each requested auxiliary output.
template <class Visit>
void for_further(const FurtherResults& of, Visit&& visit) {
  for (const FurtherResult& it : kFurtherResults) {
    if ((of.*it.view).data) visit(it);
  }
}

/// Returns a bit for each requested auxiliary output.
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
