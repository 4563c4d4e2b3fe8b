#include "core/graph/results.h"

#include <atomic>
#include <exception>

namespace mpmml::graph {

void Reducing::write(const Query& query, int64_t index) const {
  const Results& results = query.results;
  const double key = results.reduction == Reduction::kMean ? sum_ / count_ : worst_;
  const bool is_negative = query.rules.maximizes;
  results.reduced[index] = count_ == 0 ? std::numeric_limits<double>::quiet_NaN() : is_negative ? 0 - key : key + 0;
  results.reached[index] = count_;
}

void Nearest::add(double key, int32_t node, int64_t most) {
  const Found one{key, node};
  if (static_cast<int64_t>(found_.size()) < most) {
    found_.push_back(one);
    std::push_heap(found_.begin(), found_.end());
  } else if (one < found_.front()) {
    std::pop_heap(found_.begin(), found_.end());
    found_.back() = one;
    std::push_heap(found_.begin(), found_.end());
  }
}

void Nearest::write(const Query& query, int64_t index) {
  const Results& results = query.results;
  std::sort_heap(found_.begin(), found_.end());
  const auto count = static_cast<int64_t>(found_.size());
  double* const values = results.reduced + index * results.most_nearest;
  int32_t* const nodes = results.nearest + index * results.most_nearest;
  for (int64_t at = 0; at < count; ++at) {
    values[at] = query.rules.maximizes ? 0 - found_[at].key : found_[at].key + 0;
    nodes[at] = found_[at].node;
  }
  std::fill(values + count, values + results.most_nearest, query.rules.zero);
  std::fill(nodes + count, nodes + results.most_nearest, -1);
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

void deal(const Query& query, const Crew& crew, int64_t parts, const std::function<Worker()>& make_worker) {
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
  const int64_t threads = std::min({int64_t{crew.threads}, parts, query.most_workers});
  threads > 1 ? crew.for_each(threads, work) : work(0);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mpmml::graph
