// List of one or more problems.
#pragma once
#include <cstddef>
#include <vector>

#include "core/problem/problem.h"

namespace mpmml {

/// Consecutive problems in memory of the caller, which must outlive this object.
class Problems {
 public:
  Problems(const Problem& one) : first_(&one), count_(1) {}
  Problems(const std::vector<Problem>& all) : first_(all.data()), count_(all.size()) {}

  const Problem* begin() const { return first_; }
  const Problem* end() const { return first_ + count_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const Problem& front() const { return *first_; }
  const Problem& operator[](size_t index) const { return first_[index]; }

 private:
  const Problem* first_;
  size_t count_;
};

}  // namespace mpmml
