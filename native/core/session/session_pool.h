// Sessions for calls whose matrices are in host memory.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/session/backend.h"
#include "core/session/session.h"

namespace mpmml {

/// Pool of idle sessions. Each call leases a session of its own, so that calls don't wait for each other.
class SessionPool {
  struct IdleSession {
    const Backend* backend;
    int device;
    int64_t limit;
    std::shared_ptr<Session> session;
  };

 public:
  /// Exclusive use of a session during the lifetime of this object.
  class Lease {
   public:
    Lease(SessionPool& pool, IdleSession idle) : pool_(pool), idle_(std::move(idle)) {}
    Lease(Lease&& other) noexcept = default;
    ~Lease() {
      if (idle_.session) pool_.give_back(std::move(idle_));
    }

    const std::shared_ptr<Session>& session() const { return idle_.session; }

   private:
    SessionPool& pool_;
    IdleSession idle_;
  };

  /// Leases a session of `device` that may use `limit` bytes of its memory. Throws Error.
  Lease take(Backend& backend, int device, int64_t limit);

 private:
  void give_back(IdleSession idle);

  std::mutex mutex_;
  std::vector<IdleSession> idle_;  ///< most recently used last; guarded by mutex_
};

}  // namespace mpmml
