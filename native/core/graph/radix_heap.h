// The nodes that a search has reached and not yet finished, if no key is below one that was taken before.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace mpmml::graph {

/// A node with the key of a path to it.
template <class Key>
struct HeapEntry {
  Key key;
  int32_t node;
};

/// A key as an unsigned integer: these are in the same order.
template <class Key>
auto ordinal(Key key) {
  using Word = std::conditional_t<sizeof(Key) == 4, uint32_t, uint64_t>;
  constexpr Word kSign = Word{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_integral_v<Key>) {
    return static_cast<Word>(static_cast<Word>(key) ^ kSign);
  } else {
    key += 0;  // Zero has one sign.
    Word word;
    std::memcpy(&word, &key, sizeof word);
    return static_cast<Word>(word & kSign ? ~word : word | kSign);
  }
}

/// The least first. Nodes lie in buckets, by the highest bit in which their keys differ from the last one taken. A node that becomes
/// better is added once more, because to find it costs more than to pass it over later.
///
/// See R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, Faster algorithms for the shortest path problem, Journal of the ACM 37 (1990).
template <class Key>
class RadixHeap {
 public:
  /// Makes it empty, for keys that aren't below `least`.
  void reset(Key least) {
    for (auto& bucket : buckets_) bucket.clear();
    filled_ = 0;
    equal_.clear();
    last_ = ordinal(least);
  }

  void push(HeapEntry<Key> reached) {
    const Word differing = ordinal(reached.key) ^ last_;
    if (differing == 0) {
      equal_.push_back(reached);
    } else {
      const int bit = 63 - __builtin_clzll(differing);
      buckets_[bit].push_back(reached);
      filled_ |= uint64_t{1} << bit;
    }
  }

  /// Takes the least for which `is_current` holds, and drops others; false if there is none.
  template <class IsCurrent>
  bool take(HeapEntry<Key>& least, const IsCurrent& is_current) {
    for (;;) {
      while (!equal_.empty()) {
        least = equal_.back();
        equal_.pop_back();
        if (is_current(least)) return true;
      }
      if (filled_ == 0) return false;
      const int first = __builtin_ctzll(filled_);
      filled_ &= filled_ - 1;
      divide(buckets_[first], is_current);
    }
  }

 private:
  using Word = decltype(ordinal(Key{}));

  /// Moves what is in the first bucket to those before it: the bits above are the same, and the least of its keys is the next one taken.
  template <class IsCurrent>
  void divide(std::vector<HeapEntry<Key>>& bucket, const IsCurrent& is_current) {
    size_t kept = 0;
    Word least = std::numeric_limits<Word>::max();
    for (const auto& reached : bucket) {
      if (!is_current(reached)) continue;
      bucket[kept++] = reached;
      least = std::min(least, ordinal(reached.key));
    }
    if (kept > 0) last_ = least;
    for (size_t at = 0; at < kept; ++at) push(bucket[at]);
    bucket.clear();
  }

  std::vector<HeapEntry<Key>> equal_;  ///< to the last one taken
  std::array<std::vector<HeapEntry<Key>>, 8 * sizeof(Key)> buckets_;
  uint64_t filled_ = 0;  ///< a bit for each bucket that isn't empty
  Word last_ = 0;
};

}  // namespace mpmml::graph
