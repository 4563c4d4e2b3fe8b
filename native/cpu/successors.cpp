#include "cpu/successors.h"

#include "core/algebra/clones.h"
#include "core/algebra/dispatch.h"
#include "core/algebra/successors.h"
#include "core/host/workspace.h"
#include "cpu/loop.h"

namespace mpmml::cpu {
namespace {

/// Sets the next node `node` of the distances in `wanted` that are equal to the sum of `weight` and `onward`, and removes
/// these distances from `wanted`. Returns their number.
template <class Element>
inline __attribute__((always_inline)) int32_t take_reached(Element* __restrict wanted, int32_t* __restrict next,
                                                           const Element* __restrict onward, int64_t count,
                                                           Element weight, Element unwanted, int32_t node) {
  int32_t reached = 0;
  for (int64_t j = 0; j < count; ++j) {
    const bool is_reached = weight + onward[j] == wanted[j];
    wanted[j] = is_reached ? unwanted : wanted[j];
    next[j] = is_reached ? node : next[j];
    reached += is_reached ? 1 : 0;
  }
  return reached;
}
MPMML_CLONES int32_t take(int32_t* wanted, int32_t* next, const int32_t* onward, int64_t count, int32_t weight,
                          int32_t unwanted, int32_t node) {
  return take_reached(wanted, next, onward, count, weight, unwanted, node);
}
MPMML_CLONES int32_t take(double* wanted, int32_t* next, const double* onward, int64_t count, double weight,
                          double unwanted, int32_t node) {
  return take_reached(wanted, next, onward, count, weight, unwanted, node);
}

template <class T, class Pointer>
auto* row_of(const BasicMatrixView<Pointer>& view, int64_t item, int64_t row) {
  using MaybeConst = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const T, T>;
  return static_cast<MaybeConst*>(view.data) + item * view.batch_stride + row * view.row_stride;
}

template <class S>
class Search {
  using Element = typename S::Element;

 public:
  explicit Search(const NextNodes& successors) : successors_(successors) {}

  /// Marks the tight edges in rows [first, end) of all rows of the batch.
  void mark(int64_t first, int64_t end) const {
    for_each_row(first, end, [&](int64_t, int64_t row, const Element* d, int32_t* next) {
      for (int64_t j = 0; j < successors_.next.cols; ++j) {
        next[j] = marked<S>(next[j], d[j], successors_.first_row + row, j);
      }
    });
  }

  /// Searches the next nodes of open pairs in rows [first, end) of all rows of the batch.
  void find(int64_t first, int64_t end) const {
    const Workspace room(successors_.next.cols * static_cast<int64_t>(sizeof(Element)));
    for_each_row(first, end, [&](int64_t item, int64_t, const Element* d, int32_t* next) {
      find_in_row(item, d, next, static_cast<Element*>(room.data()));
    });
  }

 private:
  template <class Act>
  void for_each_row(int64_t first, int64_t end, Act act) const {
    const int64_t rows = successors_.next.rows;
    for (int64_t index = first; index < end; ++index) {
      const int64_t item = index / rows, row = index % rows;
      act(item, row, row_of<Element>(successors_.d, item, row), row_of<int32_t>(successors_.next, item, row));
    }
  }

  void find_in_row(int64_t item, const Element* d, int32_t* next, Element* wanted) const {
    const int64_t n = successors_.next.cols;
    int64_t open = 0;
    Element worst = S::one;
    for (int64_t j = 0; j < n; ++j) {
      const bool is_open = next[j] == kOpenSuccessor;
      wanted[j] = is_open ? d[j] : kUnwanted<S>;
      open += is_open ? 1 : 0;
      if (is_open) worst = worse<S>(worst, d[j]);
    }
    const auto best_edge = static_cast<Element>(successors_.best_edge);
    for (int64_t via = 0; via < successors_.via.rows && open > 0; ++via) {
      const auto node = static_cast<int32_t>(successors_.first_via + via);
      if (next[node] != node || !may_lead_on<S>(d[node], best_edge, worst)) continue;
      open -= take(wanted, next, row_of<Element>(successors_.via, item, via), n, d[node], kUnwanted<S>, node);
    }
  }

  const NextNodes& successors_;
};

/// Calls `act(search, first, end)` for runs of the rows of `next`, with `steps_of_element` operations per element.
template <class Act>
void search_rows(const NextNodes& successors, int64_t steps_of_element, Act act) {
  const int64_t count = successors.batch * successors.next.rows;
  if (count == 0) return;
  const int64_t steps = saturating_product(count, successors.next.cols * steps_of_element);
  with_semiring<HasSuccessors>(successors.operation, [&](auto semiring) {
    const Search<decltype(semiring)> search(successors);
    for_each_run(CancellationToken{successors.cancelled}, count, steps, 1 << 20,
                 [&](int64_t first, int64_t end) { act(search, first, end); });
  });
}

}  // namespace

void mark_tight_edges(const NextNodes& successors) {
  constexpr int64_t kSteps = 8;
  search_rows(successors, kSteps, [](const auto& search, int64_t first, int64_t end) { search.mark(first, end); });
}

void find_next_nodes(const NextNodes& successors) {
  // Estimated number of scanned nodes; the actual number depends on the weights.
  constexpr int64_t kNodes = 64;
  search_rows(successors, kNodes, [](const auto& search, int64_t first, int64_t end) { search.find(first, end); });
}

}  // namespace mpmml::cpu
