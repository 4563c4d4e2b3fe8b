// Threads that are joined on every exit from a scope, exceptions included.
#pragma once
#include <cstddef>
#include <exception>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "core/host/fault_injection.h"
#include "core/status.h"

namespace mpmml {

/// List of threads. The destructor waits until all threads have ended, so they must have been told to end before.
class JoiningThreads {
 public:
  /// `purpose` is the purpose of the threads in error messages, such as "call a device".
  explicit JoiningThreads(const char* purpose) : purpose_(purpose) {}
  ~JoiningThreads() { join(); }
  JoiningThreads(const JoiningThreads&) = delete;

  size_t size() const { return threads_.size(); }

  /// Starts a thread. Throws Error(kOutOfMemory) if the system refuses the thread, or memory for it.
  template <class Body>
  void start(Body&& body) {
    try {
      before_thread();
      // The list node is allocated first: a thread without one could not be joined.
      std::list<std::thread> one(1);
      one.front() = std::thread(std::forward<Body>(body));
      threads_.splice(threads_.end(), one);
    } catch (const std::exception& error) {
      throw Error(ErrorCode::kOutOfMemory,
                  std::string("the system refused to start a thread to ") + purpose_ + ": " + error.what());
    }
  }

  void join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  const char* const purpose_;
  std::list<std::thread> threads_;
};

}  // namespace mpmml
