// Closures of integers whose sums might leave their type, computed in float64.
#include <algorithm>
#include <limits>
#include <string>

#include "core/algebra/dispatch.h"
#include "core/closure/methods.h"
#include "core/host/workspace.h"
#include "core/status.h"

namespace mpmml {
namespace {

template <class S>
constexpr double kWideZero =
    S::maximizes ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();

template <class S>
double widened_sum(int32_t x) {
  return x == S::zero ? kWideZero<S> : x;
}

/// Returns `sum` as an element according to the overflow policy. Sets `overflowed` if the sum isn't in the finite
/// range.
template <class S>
int32_t narrowed_sum(double sum, OverflowPolicy overflow, bool& overflowed) {
  using Finite = FiniteRange<S>;
  if (sum == kWideZero<S>) return S::zero;
  if (sum >= Finite::least && sum <= Finite::most) return static_cast<int32_t>(sum);
  overflowed = true;
  if (overflow == OverflowPolicy::kWrap) return static_cast<int32_t>(static_cast<int64_t>(sum));
  return sum < Finite::least ? Finite::least : Finite::most;
}

template <class S>
Error overflow_error(double sum, bool batched, int64_t item, int64_t row, int64_t col) {
  return Error(ErrorCode::kOverflow,
               "the closure's element [" + (batched ? std::to_string(item) + ", " : "") + std::to_string(row) + ", " +
                   std::to_string(col) + "] is " + std::to_string(static_cast<int64_t>(sum)) +
                   ", outside the finite range " + std::to_string(FiniteRange<S>::least) + " to " +
                   std::to_string(FiniteRange<S>::most) +
                   ": choose overflow 'saturate' or 'wrap', or put the weights into a Float64Array");
}

template <class S>
Outcome close_by_float64(Session& session, const Closure& closure, const Placement& where) {
  const int64_t n = closure.d.rows, count = n * n;
  Workspace narrow(count * element_bytes(DataType::kInt32)), wide(count * element_bytes(DataType::kFloat64));
  auto* const elements = static_cast<int32_t*>(narrow.data());
  auto* const sums = static_cast<double*>(wide.data());
  const MutableMatrixView host_elements = row_major<void*>(elements, n, n), host_sums = row_major<void*>(sums, n, n);

  const int64_t bytes = closure.batch * count * static_cast<int64_t>(sizeof(double));
  const int64_t units = closure.batch > 1 ? closure.batch : n;
  const std::shared_ptr<Memory> memory = session.allocate_units(units, bytes / units);
  Closure by_float64 = closure;
  by_float64.operation.dtype = DataType::kFloat64;
  by_float64.d = placed_in(*memory, row_major<void*>(nullptr, n, n));
  if (closure.best_edge) {
    keep_weights(session, closure)->finish();
    by_float64.next = {};
    by_float64.best_edge.reset();
  }

  const auto item_of = [](const MutableMatrixView& view, DataType dtype, int64_t item) {
    return view_from(view, dtype, item, 0, 0);
  };
  for (int64_t item = 0; item < closure.batch; ++item) {
    session
        .download(DataType::kInt32, 1, read_only(item_of(closure.d, DataType::kInt32, item)), host_elements,
                  closure.cancelled)
        ->finish();
    std::transform(elements, elements + count, sums, widened_sum<S>);
    session.upload(DataType::kFloat64, 1, read_only(host_sums), item_of(by_float64.d, DataType::kFloat64, item),
                   closure.cancelled);
  }
  Outcome outcome = close_within(session, by_float64, where)->finish().front();
  if (outcome.gain) return outcome;
  if (closure.best_edge) {
    by_float64.next = closure.next;
    by_float64.best_edge = closure.best_edge;
    find_next(session, by_float64)->finish();
  }
  const OverflowPolicy overflow = closure.operation.overflow;
  for (int64_t item = 0; item < closure.batch; ++item) {
    session
        .download(DataType::kFloat64, 1, read_only(item_of(by_float64.d, DataType::kFloat64, item)), host_sums,
                  closure.cancelled)
        ->finish();
    for (int64_t index = 0; index < count; ++index) {
      bool overflowed = false;
      elements[index] = narrowed_sum<S>(sums[index], overflow, overflowed);
      if (overflowed && overflow == OverflowPolicy::kThrow) {
        throw overflow_error<S>(sums[index], closure.batch > 1, item, index / n, index % n);
      }
    }
    session.upload(DataType::kInt32, 1, read_only(host_elements), item_of(closure.d, DataType::kInt32, item),
                   closure.cancelled);
  }
  return outcome;
}

}  // namespace

Outcome close_by_float64(Session& session, const Closure& closure, const Placement& where) {
  return with_semiring<CanOverflow>(
      closure.operation, [&](auto semiring) { return close_by_float64<decltype(semiring)>(session, closure, where); });
}

}  // namespace mpmml
