// Sessions for calls whose matrices are in host memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/session.h"

namespace mpmml {

/// Each call has a session for itself, so that none waits for another one. It is kept for the next call.
class SessionPool {
 public:
  using Open = std::function<std::unique_ptr<Session>()>;

  /// Calls `body` with a session of `device` that no other call uses meanwhile, and that may take `limit` bytes of its memory.
  /// `open` opens one.
  template <class Body>
  auto with(int device, int64_t limit, const Open& open, Body&& body) {
    const Loan loan(*this, device, limit, open);
    return body(*loan.it.session);
  }

 private:
  struct Idle {
    int device;
    int64_t limit;
    std::unique_ptr<Session> session;
  };
  struct Loan {
    Loan(SessionPool& of, int device, int64_t limit, const Open& open) : pool(of), it(of.take(device, limit, open)) {}
    ~Loan() { pool.give_back(std::move(it)); }
    Loan(const Loan&) = delete;
    SessionPool& pool;
    mutable Idle it;
  };

  Idle take(int device, int64_t limit, const Open& open);
  void give_back(Idle idle);

  std::mutex mutex_;
  std::vector<Idle> idle_;  ///< guarded by mutex_
};

}  // namespace mpmml
