#include "core/problem/definition.h"

#include "core/algebra/dispatch.h"
#include "core/problem/scan.h"

namespace mpmml {

void store_without_steps(const Problem& problem) {
  if (!problem.known) require_elements_of_c0(problem);
  with_semiring(problem.operation, [&](auto semiring) {
    using Arithmetic = typename ByDefinition<decltype(semiring)>::Arithmetic;
    for (int64_t item = 0; item < problem.batch; ++item) {
      for (int64_t row = 0; row < problem.m(); ++row) {
        const Span inside = span_of_row(problem.structure.c, row, problem.n());
        for (int64_t col = inside.first; col < inside.end; ++col) {
          store_result<Arithmetic>(problem, problem.c, item, row, col, Arithmetic::initial());
          if (problem.updates_auxiliary()) continue;
          for_auxiliary(problem,
                        [&](const AuxiliaryOutput& it) { auxiliary_at(problem.*it.view, item, row, col) = it.none; });
        }
      }
    }
  });
}

}  // namespace mpmml
