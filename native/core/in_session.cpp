#include "core/in_session.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/destination.h"
#include "core/overflow.h"
#include "core/parts.h"
#include "core/structured.h"
#include "core/witness.h"
#include "core/workspace.h"

namespace mpmml {
namespace {

/// Copies the witnesses of the results.
void copy_witness(const Problem& problem, const int32_t* dense) {
  const MutableMatrixView& to = problem.witness;
  for (int64_t row = 0; row < problem.batch * to.rows; ++row) {
    const Span inside = span_of_row(problem.structure.c, row % to.rows, to.cols);
    for (int64_t col = inside.first; col < inside.end; ++col) {
      witness_at(problem, row / to.rows, row % to.rows, col) = dense[row * to.cols + col];
    }
  }
}

/// The results of `problem`, as they are in the session.
struct Results {
  MutableMatrixView c, witness;
};

/// Copies results to the host. Calls `before_writing` when all that may be lacking has been got.
template <class BeforeWriting>
void fetch(Session& session, const Problem& problem, const Results& there, const BeforeWriting& before_writing) {
  const auto download = [&](DataType dtype, const MutableMatrixView& from, const MutableMatrixView& to) {
    session.download(dtype, problem.batch, read_only(from), to, problem.cancelled)->finish();
  };
  const DataType dtype = problem.operation.dtype;
  if (problem.structure.c.is_all(problem.m(), problem.n())) {
    before_writing();
    download(dtype, there.c, problem.c);
    download(DataType::kInt32, there.witness, problem.witness);
    return;
  }
  // What is outside of the caller's matrices stays.
  const auto bytes_of = [&](DataType type) { return static_cast<size_t>(problem.outputs() * element_bytes(type)); };
  const Workspace c(bytes_of(dtype)), witness(bytes_of(DataType::kInt32));
  download(dtype, there.c, row_major(c.data(), problem.m(), problem.n()));
  download(DataType::kInt32, there.witness, row_major(witness.data(), problem.m(), problem.n()));
  before_writing();
  copy_rows(problem, c.data(), 0, problem.batch * problem.m());
  copy_witness(problem, static_cast<const int32_t*>(witness.data()));
}

}  // namespace

Outcome multiply_with_witness(Session& session, const Problem& problem, const Placement& where) {
  std::vector<Problem> problems{problem};
  Problem& in_session = problems.front();
  const auto make = [&](DataType dtype, MutableMatrixView& view) {
    const std::shared_ptr<Memory> memory = session.allocate(problem.outputs() * element_bytes(dtype));
    view = row_major(memory->data(), problem.m(), problem.n());
    view.memory = memory.get();
    return memory;
  };
  const std::shared_ptr<Memory> c = make(problem.operation.dtype, in_session.c),
                                witness = make(DataType::kInt32, in_session.witness);
  in_session.keeps_c = false;
  Outcome outcome;
  try {
    outcome = session.multiply(problems, where)->finish().front();
  } catch (const OverflowError& error) {
    outcome.overflow = error.index();
    return outcome;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Clock::duration waited{};  // for the other parts
  fetch(session, problem, {in_session.c, in_session.witness}, [&] {
    const Clock::time_point before = Clock::now();
    if (where.part) where.part->before_writing(problem);
    waited = Clock::now() - before;
  });
  outcome.timing.d2h = std::chrono::duration<double, std::milli>(Clock::now() - start - waited).count();
  return outcome;
}

int64_t bytes_of_result_together(const Problem& problem) {
  return round_up(problem.outputs() * element_bytes(problem.operation.dtype), kMatrixAlignment);
}

std::vector<Outcome> multiply_together(Session& session, const std::vector<Problem>& problems, const Placement& where) {
  int64_t bytes = 0;
  std::vector<int64_t> places;
  for (const Problem& problem : problems) {
    places.push_back(bytes);
    bytes += bytes_of_result_together(problem);
  }
  const std::shared_ptr<Memory> memory = session.allocate(bytes);
  std::vector<Problem> in_session = problems;
  for (size_t index = 0; index < problems.size(); ++index) {
    Problem& problem = in_session[index];
    problem.c = row_major<void*>(static_cast<char*>(memory->data()) + places[index], problem.m(), problem.n());
    problem.c.memory = memory.get();
    problem.keeps_c = false;
  }
  std::vector<Outcome> outcomes = session.multiply(in_session, where)->finish();
  const Workspace results(static_cast<size_t>(bytes));
  MatrixView from = row_major<const void*>(memory->data(), 1, bytes);
  from.memory = memory.get();
  session.download(DataType::kUint8, 1, from, row_major(results.data(), 1, bytes), problems.front().cancelled)
      ->finish();
  for (size_t index = 0; index < problems.size(); ++index) {
    const Problem& problem = problems[index];
    copy_rows(problem, static_cast<const char*>(results.data()) + places[index], 0, problem.batch * problem.m());
  }
  return outcomes;
}

}  // namespace mpmml
