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

/// Each call has a session for itself, so that none waits for another one. It is kept for the next call.
class SessionPool {
  struct IdleSession {
    const Backend* backend;
    int device;
    int64_t limit;
    std::shared_ptr<Session> session;
  };

 public:
  /// A session that no other call uses while this is there.
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

  /// A session of `device` that may take `limit` bytes of its memory. Throws Error.
  Lease take(Backend& backend, int device, int64_t limit);

 private:
  void give_back(IdleSession idle);

  std::mutex mutex_;
  std::vector<IdleSession> idle_;  ///< latest last; guarded by mutex_
};

}  // namespace mpmml
