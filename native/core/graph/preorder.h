// Search tree as a linked list in preorder: the descendants of a node follow it.
#pragma once
#include <cstdint>

#include "core/graph/array.h"

namespace mpmml::graph {

class PreorderTree {
 public:
  /// All nodes are descendants of the top.
  explicit PreorderTree(int32_t nodes)
      : top_(nodes), after_(int64_t{nodes} + 1), previous_(int64_t{nodes} + 1), children_(int64_t{nodes} + 1) {}

  int32_t top() const { return top_; }

  /// Resets the tree to its virtual root `top`. Nodes of a previous tree must be removed one by one.
  void begin() {
    after_[top_] = previous_[top_] = top_;
    children_[top_] = 0;
  }
  void exclude(int32_t node) { children_[node] = kOut; }
  bool has(int32_t node) const { return children_[node] != kOut; }

  void attach(int32_t node, int32_t parent) {
    const int32_t next = after_[parent];
    after_[parent] = node;
    previous_[node] = parent;
    after_[node] = next;
    previous_[next] = node;
    ++children_[parent];
    children_[node] = 0;
  }

  /// Returns the node after the subtree of `node`; -1 if `other` is in the subtree. Sets `looked` to the number of
  /// visited nodes.
  int32_t end_of(int32_t node, int32_t other, int64_t& looked) const {
    int32_t next = node;
    looked = 0;
    // `open` is the number of subtree nodes that are known but not yet visited.
    for (int32_t open = 1; open > 0; next = after_[next]) {
      if (next == other) return -1;
      open += children_[next] - 1;
      ++looked;
    }
    return next;
  }

  /// Removes the subtree of `node`, a child of `parent`. `end` is the node after the subtree.
  void detach_subtree(int32_t node, int32_t parent, int32_t end) {
    const int32_t last = previous_[node];
    --children_[parent];
    for (int32_t below = node; below != end; below = after_[below]) children_[below] = kOut;
    after_[last] = end;
    previous_[end] = last;
  }

 private:
  static constexpr int32_t kOut = -1;

  const int32_t top_;
  Array<int32_t> after_, previous_, children_;
};

/// Queue of nodes without duplicates.
class NodeQueue {
 public:
  explicit NodeQueue(int32_t nodes) : nodes_(nodes), queued_(nodes, 0) {}

  /// Sets the number of distinct nodes that may be added. The queue must be empty.
  void begin(int64_t size) {
    size_ = size;
    head_ = 0;
  }
  bool empty() const { return length_ == 0; }

  void add(int32_t node) {
    if (queued_[node]) return;
    queued_[node] = 1;
    const int64_t place = head_ + length_++;
    nodes_[place < size_ ? place : place - size_] = node;
  }

  int32_t take() {
    const int32_t node = nodes_[head_];
    if (++head_ == size_) head_ = 0;
    --length_;
    queued_[node] = 0;
    return node;
  }

 private:
  Array<int32_t> nodes_;
  Array<uint8_t> queued_;
  int64_t size_ = 0, head_ = 0, length_ = 0;
};

}  // namespace mpmml::graph
