// Sessions for calls whose matrices are in host memory.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/backend.h"
#include "core/session.h"

namespace mpmml {

/// Each call has a session for itself, so that none waits for another one. It is kept for the next call.
class SessionPool {
 public:
  /// A session that no other call uses.
  struct Idle {
    const Backend* backend;
    int device;
    int64_t limit;
    std::unique_ptr<Session> session;
  };

  /// One of `device` that may take `limit` bytes of its memory. Throws Error.
  Idle take(Backend& backend, int device, int64_t limit);
  void give_back(Idle idle);

  /// Calls `body` with such a session.
  template <class Body>
  auto with(Backend& backend, int device, int64_t limit, Body&& body) {
    const Loan loan{*this, take(backend, device, limit)};
    return body(*loan.idle.session);
  }

 private:
  struct Loan {
    ~Loan() { pool.give_back(std::move(idle)); }
    SessionPool& pool;
    mutable Idle idle;
  };

  std::mutex mutex_;
  std::vector<Idle> idle_;  ///< guarded by mutex_
};

}  // namespace mpmml
