#include "cuda/launch/closure.h"

#include <algorithm>
#include <stdexcept>

namespace mpmml::cuda {
namespace {

bool is_for(const ClosureKernel& kernel, const Operation& operation) {
  return kernel.semiring == operation.semiring && kernel.dtype == operation.dtype;
}

}  // namespace

int64_t max_pivots(const Operation& operation) {
  int most = 0;
  for (const ClosureKernel& kernel : closure_kernels()) {
    if (is_for(kernel, operation) && kernel.others > 0) most = std::max(most, kernel.pivots);
  }
  return most;
}

const ClosureKernel& closure_kernel(const Pivots& pivots) {
  for (const ClosureKernel& kernel : closure_kernels()) {
    const bool fits = pivots.count <= kernel.pivots && (!pivots.columns.data || kernel.others > 0);
    if (fits && is_for(kernel, pivots.operation)) return kernel;
  }
  throw std::logic_error("no kernel passes so many pivots");
}

}  // namespace mpmml::cuda
