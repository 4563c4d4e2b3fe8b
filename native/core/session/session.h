// Matrices that stay on a device from product to product, and the device that keeps them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "core/problem/problems.h"
#include "core/session/backend.h"
#include "core/user/product.h"

namespace mpmml {

class PeerTransfers;  // core/devices/sharded_memory.h

/// Memory of a device that holds elements. Matrices are views of it: their `memory` points to it. It is given back when
/// its last owner lets go of it, which may be on any thread.
class Memory {
 public:
  Memory(void* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

  /// Marks it as one that its only owner will let go of, which may take long: from now on it doesn't count as used. Twice is once.
  virtual void retire() {}

 private:
  void* const data_;
  const int64_t bytes_;
};

/// A share of a device's memory, until it is let go of.
class Share {
 public:
  Share() = default;
  virtual ~Share() = default;
  Share(const Share&) = delete;
};

/// In bytes.
struct MemoryUse {
  int64_t used;      ///< by the matrices that exist
  int64_t reserved;  ///< what the library holds: matrices, packed forms, workspaces, and what it keeps for the next one
  int64_t peak;      ///< the most that `used` has been
  int64_t free;      ///< what is free on the device
  int64_t total;     ///< what the device has
};

/// Work that has been started. It may still run on the device.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Doesn't wait.
  virtual bool is_done() = 0;
  /// Waits if it isn't done. Call it once. Throws Error if the work failed. Returns an outcome for each product.
  virtual std::vector<Outcome> finish() = 0;
};

/// Work that was done when it was started.
class Done final : public Pending {
 public:
  explicit Done(std::vector<Outcome> outcomes = {}) : outcomes_(std::move(outcomes)) {}
  bool is_done() override { return true; }
  std::vector<Outcome> finish() override { return std::move(outcomes_); }

 private:
  std::vector<Outcome> outcomes_;
};

/// Some pivots of a closure (Floyd and Warshall): nodes by way of which better ways are searched, one after the other.
/// Here only ways that begin or end at one of them become better: in the columns of the pivots (`down`), and in their rows
/// (`along`). Those between other nodes follow from one product. With i and j for any nodes that have rows and columns here:
///
///   for k = 0 … count − 1:
///     columns[i, k] = d[i, pivot k] and rows[k, j] = d[pivot k, j], as they are at this moment
///     d[i, j] = d[i, j] ⊕ columns[i, k] ⊗ rows[k, j], if i or j is a pivot
///
///   d[i, j] = d[i, j] ⊕ (columns ⊗ rows)[i, j] for all other i and j
///
/// The candidates of an element are the same, in the same order, as if there were only one pivot at a time. So its value
/// doesn't depend on how the pivots are grouped, not even by rounding; nor does the way that `next` follows. Sums of finite
/// elements must not leave the type.
struct Pivots {
  Operation operation;  ///< ⊕ is idempotent
  int64_t batch = 1;
  int64_t count = 0;  ///< 1 … max_pivots()
  /// m × count and count × n. The pivots are rows first_row … of `down` and columns first_col … of `along`. If these two are
  /// parts of one matrix, they overlap in what pivots have among each other. Otherwise both must have it, and it is
  /// unspecified afterwards.
  MutableMatrixView down, along;
  int64_t first_row = 0, first_col = 0;
  /// int32, of the same sizes: if an element becomes strictly better by pivot k, its element of these becomes what
  /// next_columns[i, k] is. Data is null if they aren't asked for.
  MutableMatrixView next_down, next_along;
  MutableMatrixView
      columns;  ///< m × count. Data is null, and that of `rows`, if they aren't asked for and all are pivots.
  MutableMatrixView rows;          ///< count × n
  MutableMatrixView next_columns;  ///< m × count, int32: of next_down, as `columns` is of `down`
  int64_t first_node = 0;          ///< what `gain` calls the first pivot
  /// batch × 1 × 1, int32: the smallest pivot with which a cycle gains, so that its element of the diagonal is strictly
  /// better than one when its turn comes. At first kNoGain. Once it is set, all others are unspecified, and needn't be
  /// computed.
  MutableMatrixView gain;
  const std::atomic<int32_t>* cancelled = nullptr;  ///< heard by sessions that eliminate before they return
};

/// The next nodes of ways over sums, by the distances of a closure, if every edge makes a way worse and sums are exact. Then
/// an edge that is as good as the distance to where it leads (it is *tight*) begins a best way, and every best way consists
/// of such edges. For i ≠ j the next node becomes j if there is a tight edge from i to j, else the smallest v with one from i
/// to v and d[i, v] + d[v, j] = d[i, j]. On the diagonal, and if there is no way, it is −1. Who follows it is nearer with
/// each edge.
struct NextNodes {
  Operation operation;  ///< of the distances: ⊗ is the sum, over int32 or over float64 that holds integers
  int64_t batch = 1;
  MatrixView d;            ///< m × n: the distances from the nodes first_row …
  int64_t first_row = 0;   ///< the nodes of these rows
  MutableMatrixView next;  ///< m × n, int32
  MatrixView via;          ///< k × n: the distances from the nodes first_via …, by way of which find_next_nodes() looks
  int64_t first_via = 0;
  double best_edge = 0;  ///< no edge has a better weight
  const std::atomic<int32_t>* cancelled = nullptr;
};

/// Edges of a graph that improve its ways, without all those that are worse than the way found so far. An edge with
/// w(i, j) = d(i, j) is *essential*: best ways consist of such edges, because d is at best the distance and at worst w.
struct EssentialEdges {
  Operation
      operation;  ///< ⊗ is the sum over int32; no edge makes a way better, and sums of two elements stay in the type
  MatrixView weights;     ///< n × n
  MutableMatrixView d;    ///< n × n: lengths of ways of the graph, none worse than its edge
  int64_t max_edges = 0;  ///< essential edges that are worth a try
  int64_t max_reads = 0;  ///< rows that all rounds together may read; each round counts as additional reads
  const std::atomic<int32_t>* cancelled = nullptr;
};

/// Numbers of equal elements of two matrices.
struct Equal {
  int64_t elements;  ///< other than zero
  int64_t zeros;     ///< where the second matrix is the semiring's zero
};

/// Operations of a session that close a matrix by its essential edges. Matrices are of the session; calls wait for the work.
class Relaxer {
 public:
  virtual ~Relaxer() = default;
  /// Compares int32 matrices of the same sizes.
  virtual Equal count_equal(const Operation& operation, const MatrixView& a, const MatrixView& b) = 0;
  /// Returns whether a ⊗ a takes a small part of its n³ steps, as far as a sample tells.
  virtual bool has_fast_square(const Operation& operation, const MatrixView& a) = 0;
  /// Improves d over its essential edges until nothing changes: d is closed then. Returns false, and d holds ways that may have become
  /// better, if there are more than `max_edges`, or if `max_reads` don't suffice. Throws Error.
  virtual bool relax(const EssentialEdges& edges) = 0;
};

/// A place in the order of a session's work.
class StreamEvent {
 public:
  virtual ~StreamEvent() = default;
};

/// A device that has been opened. What is started takes effect in the order of the calls, as if each were complete
/// before the next. Only one thread at a time may call it, except for what says otherwise. It must outlive what it has
/// allocated and started.
class Session {
 public:
  virtual ~Session() = default;

  virtual BackendKind backend() const = 0;
  virtual int device() const = 0;
  /// The name of the GPU model; empty on the CPU.
  virtual std::string name() const = 0;
  /// Whether its memory is the host's. Then it reads operands in any memory, and sees their values for nothing.
  virtual bool is_host() const { return false; }
  /// Whether work is done when it has been started.
  virtual bool works_at_once() const { return false; }

  /// The flag by which work that is asked for from now on is given up, also while it waits for memory; null: there is none.
  virtual void set_cancelled(const std::atomic<int32_t>* /*cancelled*/) {}

  /// Memory with undefined content. Throws Error(kOutOfMemory).
  virtual std::shared_ptr<Memory> allocate(int64_t bytes) = 0;

  /// The same for memory that other sessions receive from.
  virtual std::shared_ptr<Memory> allocate_for_peers(int64_t bytes) { return allocate(bytes); }

  /// The same for `units` pieces of equal sizes (rows, or matrices of a batch), none of which a device that is several
  /// divides.
  virtual std::shared_ptr<Memory> allocate_units(int64_t units, int64_t bytes) { return allocate(units * bytes); }

  /// The devices that it consists of, if they are several.
  virtual std::vector<int> devices() const { return {}; }
  virtual PeerTransfers* peers() { return nullptr; }

  /// Another session of the same device, whose work runs before that of this one if both are ready; null if there is none.
  virtual std::unique_ptr<Session> open_ahead() { return nullptr; }

  /// Copies `batch` host matrices into the matrices `to` of the same sizes and storage. Returns when the host's memory
  /// isn't read any more. `cancelled` as in Problem.
  virtual void upload(DataType dtype, int64_t batch, const MatrixView& from, const MutableMatrixView& to,
                      const std::atomic<int32_t>* cancelled) = 0;

  /// Starts to copy the matrices `from` to the host's matrices `to`, which must stay until the work is done.
  virtual std::unique_ptr<Pending> download(DataType dtype, int64_t batch, const MatrixView& from,
                                            const MutableMatrixView& to, const std::atomic<int32_t>* cancelled) = 0;

  /// Starts to set all elements of `to` to `value`, which the type can represent.
  virtual std::unique_ptr<Pending> fill(DataType dtype, int64_t batch, const MutableMatrixView& to, double value) = 0;

  /// Starts C = C ⊕ D, element by element. Both are in memory of this session and have the same sizes. D may be stored
  /// as int16. Throws Error(kValue) for values that aren't elements of the semiring.
  virtual std::unique_ptr<Pending> combine(const Operation& operation, int64_t batch, const MutableMatrixView& c,
                                           const MatrixView& d) = 0;

  /// Starts to copy matrices of this session to others of the same sizes and storage. They must not overlap.
  virtual std::unique_ptr<Pending> copy(DataType dtype, int64_t batch, const MatrixView& from,
                                        const MutableMatrixView& to) = 0;

  /// What it has been asked for until now, for other sessions of the same backend to wait for; null if all of it is done.
  virtual std::shared_ptr<StreamEvent> moment() { return nullptr; }
  /// What it is asked for from now on begins after a moment of another session; null: at once.
  virtual void follow(const StreamEvent* /*moment*/) {}

  /// Starts to copy bytes from memory of another session of the same backend, which must be for peers. Nothing of the
  /// other session waits for it, nor it for that: see moment(). What is known of all elements of a memory goes with them, if
  /// all are copied. The other session may receive meanwhile, on another thread.
  virtual void receive(Session& from, const Memory& source, int64_t source_at, Memory& target, int64_t target_at,
                       int64_t bytes) = 0;

  /// The range of the elements of matrices of this session. May wait.
  virtual ValueRange range(const Operation& operation, int64_t batch, const MatrixView& matrix) = 0;
  /// The index (item, row, column in row-major order) of the first element that is NaN, in matrices of this session. May
  /// wait.
  virtual std::optional<int64_t> find_nan(DataType dtype, int64_t batch, const MatrixView& matrix);

  /// The most pivots at a time.
  virtual int64_t max_pivots(const Operation& operation) const = 0;
  /// All matrices are of this session, and have contiguous rows (column stride 1).
  virtual std::unique_ptr<Pending> eliminate(const Pivots& pivots) = 0;
  /// Starts to set next[i, j] = j if d[i, j] isn't zero, and −1 if it is. Both are of this session.
  virtual std::unique_ptr<Pending> set_successors(const Operation& operation, int64_t batch, const MatrixView& d,
                                                  const MutableMatrixView& next) = 0;
  /// Starts to replace the weights of edges in `next`, as int32 with its zero for no edge, by the next nodes of tight edges;
  /// other ways are open (core/algebra/successors.h).
  virtual std::unique_ptr<Pending> mark_tight_edges(const NextNodes& successors) = 0;
  /// Starts to look for what is open by way of some nodes. By way of all of them, in ascending order, everything is found.
  virtual std::unique_ptr<Pending> find_next_nodes(const NextNodes& successors) = 0;

  /// Null if the session closes matrices by elimination only.
  virtual Relaxer* relaxer() { return nullptr; }

  /// Starts products. Operands and C0 are in memory of this session or in host memory, which isn't read any more when this
  /// returns. So are C and the witness, each product's in the same place as those of the others. What the first
  /// `Problem::cancelled` says is for all of them. Throws Error, as finish() of the result does; an overflow is an
  /// OverflowError. After an error a C that has been given by the caller (keeps_c) has its product or is unchanged, except
  /// after kAborted and kCuda.
  virtual std::unique_ptr<Pending> multiply(Problems problems, const Placement& where) = 0;

  /// Whether the results of one product in host memory are written by finish() of what multiply() returns, and not before.
  virtual bool writes_at_finish() const { return false; }

  /// What the parts of a product of host matrices, which are rows of it, need to give each other B, which all of them read,
  /// so that the host sends it only once; null if each part had better read it itself. `sessions` are of this backend, and
  /// compute the parts.
  virtual std::unique_ptr<SharedOperand> broadcast_b(const std::vector<Problem>& /*parts*/,
                                                     const std::vector<Session*>& /*sessions*/) {
    return nullptr;
  }

  /// The plan that multiply() would follow. The problem has steps; its C needs no memory. Throws Error.
  virtual Plan plan(const Problem& problem, const Placement& where) = 0;

  /// Starts a product over a semiring of one's own. It has results, but K may be 0. All its matrices are in memory of this session,
  /// unless that is the CPU's, or operands are and it is several devices: then they may be in host memory too. Throws Error, as
  /// finish() of the result does; of the outcome only the timing is there.
  virtual std::unique_ptr<Pending> multiply_user(const UserProduct& product, const Placement& where) = 0;

  /// Waits until other products on this device leave the memory that one of host matrices takes here. What is allocated until the
  /// share ends is part of it; before, the session has no matrices. Null if no product waits for another's memory here. Throws
  /// Error(kOutOfMemory) if there is never so much, and Error(kAborted).
  virtual std::unique_ptr<Share> admit_user(const UserProduct& /*product*/) { return nullptr; }

  /// With what multiply_user() would compute it, in words; a line for each thing. Its matrices need no memory. Throws Error.
  virtual std::string explain_user(const UserProduct& product, const Placement& where) = 0;

  /// May be called from any thread.
  virtual MemoryUse memory_use() = 0;

  /// Gives memory back that isn't used any more. Called when nothing runs and nothing waits.
  virtual void collect() {}
};

/// Sets the elements outside of the structure of results in memory of the session. They are set as a whole, because the product
/// comes after that.
template <class Product>
void clear_outside(Session& session, const Product& product) {
  for (const ClearedResult& it : cleared_results(product)) {
    session.fill(it.dtype, product.batch, it.view, it.value)->finish();
  }
}

}  // namespace mpmml
