/* The lock of the emulated GPU: recursive, and a thread can release it completely while it waits for another thread
 * that may need it. */
#ifndef EMULATOR_TURN_H
#define EMULATOR_TURN_H

#include <condition_variable>
#include <mutex>
#include <thread>

namespace emulated
{
class Turn
{
public:
  void
  lock ()
  {
    take (1);
  }

  void
  unlock ()
  {
    std::lock_guard<std::mutex> hold (lock_);

    if (--depth_ == 0)
      give ();
  }

  /* Releases the lock; returns the recursion depth. */
  unsigned
  leave ()
  {
    std::lock_guard<std::mutex> hold (lock_);
    const unsigned depth = depth_;

    depth_ = 0;
    give ();
    return depth;
  }

  void
  take (unsigned depth)
  {
    std::unique_lock<std::mutex> hold (lock_);

    if (depth_ == 0 || owner_ != std::this_thread::get_id ())
      free_.wait (hold, [this] { return depth_ == 0; });
    owner_ = std::this_thread::get_id ();
    depth_ += depth;
  }

private:
  void
  give ()
  {
    owner_ = {};
    free_.notify_one ();
  }

  std::mutex lock_;
  std::condition_variable free_;
  std::thread::id owner_;
  unsigned depth_ = 0;
};
}

#endif
