// Keeps pthread_cancel() from ending a thread in the middle of what must not be left half done.
#pragma once
#include <pthread.h>

namespace lazy {

/// Puts cancellation of the calling thread off for a scope: files are opened and written in functions that
/// nothing may be thrown from, as a cancellation is.
class NoCancel {
 public:
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace lazy
