// Monotone priority queue of a search's frontier: no key may be below the last one taken.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace mpmml::graph {

/// Node with the key of a path to it.
template <class Key>
struct HeapEntry {
  Key key;
  int32_t node;
};

/// Returns a key as an unsigned integer, in the order of the keys.
template <class Key>
auto ordinal(Key key) {
  using Word = std::conditional_t<sizeof(Key) == 4, uint32_t, uint64_t>;
  constexpr Word kSign = Word{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_integral_v<Key>) {
    return static_cast<Word>(static_cast<Word>(key) ^ kSign);
  } else {
    key += 0;  // -0 becomes +0, because both must have one ordinal.
    Word word;
    std::memcpy(&word, &key, sizeof word);
    return static_cast<Word>(word & kSign ? ~word : word | kSign);
  }
}

/// Min-heap of nodes. Nodes are in buckets by the highest bit in which their keys differ from the last one taken. An
/// improved node is added again, because finding its old entry costs more than skipping it later.
///
/// See R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, Faster algorithms for the shortest path problem, Journal of the ACM 37 (1990).
template <class Key>
class RadixHeap {
 public:
  /// Empties the heap, for keys that aren't below `least`.
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

  /// Takes the least entry for which `is_current` holds, and drops outdated ones. Returns false if none remains.
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

  /// Redistributes the first non-empty bucket to lower ones: its keys share the higher bits, and the least of them is
  /// taken next.
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

  std::vector<HeapEntry<Key>> equal_;  ///< entries with the last key taken
  std::array<std::vector<HeapEntry<Key>>, 8 * sizeof(Key)> buckets_;
  uint64_t filled_ = 0;  ///< bit set of non-empty buckets
  Word last_ = 0;
};

}  // namespace mpmml::graph
