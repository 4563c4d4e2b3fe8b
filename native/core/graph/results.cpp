#include "core/graph/results.h"

#include <atomic>
#include <exception>

namespace mpmml::graph {

void Reducing::begin() {
  count_ = 0;
  sum_ = 0;
  worst_ = -std::numeric_limits<double>::infinity();
  nearest_.clear();
}

void Reducing::add_near(const Found& one) {
  if (static_cast<int64_t>(nearest_.size()) < query_.results.max_nearest) {
    nearest_.push_back(one);
    std::push_heap(nearest_.begin(), nearest_.end());
  } else if (one < nearest_.front()) {
    std::pop_heap(nearest_.begin(), nearest_.end());
    nearest_.back() = one;
    std::push_heap(nearest_.begin(), nearest_.end());
  }
}

void Reducing::write(int64_t index) {
  const Results& results = query_.results;
  if (keeps_nearest_) return write_nearest(index);
  const double key = results.reduction == Reduction::kMean ? sum_ / count_ : worst_;
  results.reduced[index] = count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : value_of(key);
  results.reached[index] = count_;
}

void Reducing::write_nearest(int64_t index) {
  const Results& results = query_.results;
  std::sort_heap(nearest_.begin(), nearest_.end());
  const auto count = static_cast<int64_t>(nearest_.size());
  double* const values = results.reduced + index * results.max_nearest;
  int32_t* const nodes = results.nearest + index * results.max_nearest;
  for (int64_t at = 0; at < count; ++at) {
    values[at] = value_of(nearest_[at].key);
    nodes[at] = nearest_[at].node;
  }
  std::fill(values + count, values + results.max_nearest, query_.rules.zero);
  std::fill(nodes + count, nodes + results.max_nearest, -1);
  results.reached[index] = static_cast<int32_t>(count);
}

int32_t FirstNodes::of(int32_t root, int32_t end, const Array<int32_t>& before) {
  int64_t length = 0;
  int32_t node = end;
  while (first_[node] < 0) {
    const int32_t above = before[node];
    if (above < 0) return -1;
    if (above == root) {
      first_[node] = node;
      break;
    }
    chain_[length++] = node;
    node = above;
  }
  const int32_t found = first_[node];
  for (int64_t at = 0; at < length; ++at) first_[chain_[at]] = found;
  return found;
}

void deal(const ThreadPool& pool, int64_t max_workers, int64_t parts, const std::function<Worker()>& make_worker) {
  std::atomic<int64_t> next{0}, end{parts};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto fail = [&](int64_t part) {
    std::lock_guard<std::mutex> lock(mutex);
    if (part >= end.load()) return;
    end.store(part);
    failure = std::current_exception();
  };
  const auto work = [&](int64_t) {
    int64_t part = next.fetch_add(1);
    if (part >= end.load()) return;
    try {
      const Worker worker = make_worker();
      for (; part < end.load(); part = next.fetch_add(1)) worker(part);
    } catch (...) {
      fail(part);
    }
  };
  const int64_t threads = std::min({int64_t{pool.threads}, parts, max_workers});
  threads > 1 ? pool.for_each(threads, work) : work(0);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mpmml::graph
