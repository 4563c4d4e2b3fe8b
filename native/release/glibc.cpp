// What libstdc++ and its headers take from glibc if it is new enough, for addons that also run with older ones. Inside an
// addon these definitions are found before glibc's.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" {

/// Since 2.32. False is always right: it costs atomic instructions.
char __libc_single_threaded = 0;

/// Since 2.30. Waits on the clock that older functions know. If that clock is set meanwhile, the wait ends sooner or
/// later than it should; callers that wait for a condition check it then.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  constexpr long kSecond = 1000000000;
  timespec now{}, real{};
  if (const int error = clock_gettime(clock, &now) | clock_gettime(CLOCK_REALTIME, &real)) return error;
  timespec target{real.tv_sec + until->tv_sec - now.tv_sec, real.tv_nsec + until->tv_nsec - now.tv_nsec};
  while (target.tv_nsec < 0) target.tv_nsec += kSecond, --target.tv_sec;
  while (target.tv_nsec >= kSecond) target.tv_nsec -= kSecond, ++target.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &target);
}

/// Since 2.33; these were inline functions. On 64-bit systems the kernel writes what glibc's structures hold.
int fstat64(int file, struct stat64* status) { return static_cast<int>(syscall(SYS_fstat, file, status)); }
int fstat(int file, struct stat* status) { return static_cast<int>(syscall(SYS_fstat, file, status)); }
int lstat(const char* path, struct stat* status) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}
}
