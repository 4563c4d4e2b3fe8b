#include "core/session/logarithms.h"

#include <utility>
#include <vector>

#include "core/session/user_operands.h"
#include "core/user/logarithms.h"

namespace mpmml {
namespace {

/// Returns a product without matrices that is one stage of `whole`.
UserProduct part_of(const UserProduct& whole, std::shared_ptr<const UserSemiring> semiring, int64_t batch) {
  UserProduct part;
  part.semiring = std::move(semiring);
  part.batch = batch;
  part.cancelled = whole.cancelled;
  return part;
}

/// Returns the product over + and × that computes S.
UserProduct sum_of(const UserProduct& product) {
  UserProduct sum = product;
  sum.semiring = logarithm_steps().sum;
  sum.c0 = {};
  return sum;
}

class Logarithms {
 public:
  Logarithms(Session& session, const UserProduct& product, const Placement& where)
      : session_(session), product_(product), where_(where) {}

  std::unique_ptr<Pending> start() {
    const int64_t k = product_.k();
    zeros_ = make(1, 1, k);
    add(session_.fill(DataType::kFloat32, 1, zeros_, 0));
    const MutableMatrixView of_a = numbers(product_.a[0], product_.structure.a, true);
    const MutableMatrixView of_b = numbers(product_.b[0], product_.structure.b, false);
    result_ = make(product_.batch, product_.m(), product_.n());
    if (!product_.structure.c.is_all(product_.m(), product_.n())) {
      add(session_.fill(DataType::kFloat32, product_.batch, result_, 0));
    }
    UserProduct sum = sum_of(product_);
    sum.a[0] = read_only(of_a);
    sum.b[0] = read_only(of_b);
    sum.c[0] = result_;
    multiply(sum);
    UserProduct logarithms = part_of(product_, logarithm_steps().to_logarithms, product_.batch);
    logarithms.a[0] = transposed(read_only(row_greatest_));
    logarithms.b[0] = read_only(col_greatest_);
    logarithms.c0[0] = read_only(result_);
    logarithms.c[0] = result_;
    logarithms.structure.c = product_.structure.c;
    multiply(logarithms);
    if (session_.find_nan(DataType::kFloat32, product_.batch, read_only(result_))) choose_pairs();
    write();
    auto all = std::make_unique<WhenAll>(WhenAll::Kind::kParts, std::move(kept_));
    for (std::unique_ptr<Pending>& work : works_) all->add(std::move(work));
    return all;
  }

 private:
  MutableMatrixView make(int64_t items, int64_t rows, int64_t cols) {
    MatrixView like;
    like.rows = rows;
    like.cols = cols;
    like.batch_stride = items > 1 ? 1 : 0;
    return make_like(session_, like, items, kept_);
  }

  void add(std::unique_ptr<Pending> work) { works_.push_back(std::move(work)); }
  void multiply(const UserProduct& part) { add(session_.multiply_user(part, where_)); }

  /// Computes the greatest element of each line (row of A or column of B), and the exponentials of an operand relative
  /// to it.
  MutableMatrixView numbers(const MatrixView& operand, const Band& band, bool is_a) {
    const int64_t items = items_of(operand, product_.batch);
    const MatrixView columns = is_a ? transposed(operand) : operand;
    const Band of_columns = is_a ? band.transposed() : band;
    MutableMatrixView& greatest = is_a ? row_greatest_ : col_greatest_;
    greatest = make(items, 1, columns.cols);
    UserProduct search = part_of(product_, logarithm_steps().greatest, items);
    search.a[0] = read_only(zeros_);
    search.b[0] = columns;
    search.c[0] = greatest;
    search.structure.b = of_columns;
    multiply(search);
    // Rows of fewer elements take as long as a row of this many.
    constexpr int64_t kFew = 16;
    const bool are_rows = is_a || columns.cols < kFew;
    const MatrixView lines = are_rows ? transposed(columns) : columns;
    const MutableMatrixView made = make(items, lines.rows, lines.cols);
    UserProduct exponentials = part_of(product_, logarithm_steps().to_numbers, items);
    exponentials.a[0] = transposed(read_only(are_rows ? greatest : zeros_));
    exponentials.b[0] = read_only(are_rows ? zeros_ : greatest);
    exponentials.c0[0] = lines;
    exponentials.c[0] = made;
    exponentials.structure.c = are_rows ? of_columns.transposed() : of_columns;
    multiply(exponentials);
    return are_rows == is_a ? made : transposed(made);
  }

  /// Replaces NaN results by results that are computed pair by pair.
  void choose_pairs() {
    const MutableMatrixView pairs = make(product_.batch, product_.m(), product_.n());
    UserProduct by_pairs = product_;
    by_pairs.c0 = {};
    by_pairs.c[0] = pairs;
    by_pairs.steps_done = nullptr;
    multiply(by_pairs);
    UserProduct choice = without_steps(logarithm_steps().choose);
    choice.c0 = {read_only(result_), read_only(pairs)};
    choice.c = {result_, pairs};
    multiply(choice);
  }

  /// Writes the result, or C0 ⊕ the result.
  void write() {
    UserProduct last = without_steps(product_.accumulates() ? joining(*product_.semiring) : logarithm_steps().sum);
    last.keeps_c = product_.keeps_c;
    if (product_.accumulates()) {
      last.c0 = {product_.c0[0], read_only(result_)};
      last.c = {product_.c[0], result_};
    } else {
      last.c0[0] = read_only(result_);
      last.c[0] = product_.c[0];
    }
    multiply(last);
  }

  UserProduct without_steps(std::shared_ptr<const UserSemiring> semiring) const {
    UserProduct part = part_of(product_, std::move(semiring), product_.batch);
    part.structure.c = product_.structure.c;
    for (size_t lane = 0; lane < part.lane_count(); ++lane) {
      // The view has no elements.
      part.a[lane] = {zeros_.data, product_.m(), 0, 0, 1, 0, Storage::kElement, zeros_.memory};
      part.b[lane] = {zeros_.data, 0, product_.n(), product_.n(), 1, 0, Storage::kElement, zeros_.memory};
    }
    return part;
  }

  Session& session_;
  const UserProduct& product_;
  const Placement& where_;
  KeptMemory kept_;
  std::vector<std::unique_ptr<Pending>> works_;  ///< declared after the memory that works use
  MutableMatrixView zeros_;                      ///< row of k zeros
  MutableMatrixView row_greatest_;               ///< row with the greatest element of each row of A
  MutableMatrixView col_greatest_;               ///< row with the greatest element of each column of B
  MutableMatrixView result_;                     ///< S, then the result
};

}  // namespace

std::unique_ptr<Pending> start_user(Session& session, const UserProduct& product, const Placement& where) {
  // Each device of a multi-device session computes a part, which is again a product over logarithms.
  if (!product.is_of_logarithms() || !session.devices().empty()) return session.multiply_user(product, where);
  return Logarithms(session, product, where).start();
}

int64_t bytes_of_parts(const UserProduct& product) {
  if (!product.is_of_logarithms()) return 0;
  const int64_t lines =
      items_of(product.a[0], product.batch) * product.m() + items_of(product.b[0], product.batch) * product.n();
  constexpr int64_t kResults = 2;  // results of the product and results of pairs
  // The exponentials and the greatest element of each line, and zeros.
  const int64_t elements = lines * (product.k() + 1) + product.k() + kResults * product.outputs();
  return elements * element_bytes(DataType::kFloat32);
}

std::string explain_user(Session& session, const UserProduct& product, const Placement& where) {
  if (!product.is_of_logarithms()) return session.explain_user(product, where);
  return session.explain_user(sum_of(product), where) +
         "\nof exponentials, and pair by pair where these leave the range of float32";
}

}  // namespace mpmml
