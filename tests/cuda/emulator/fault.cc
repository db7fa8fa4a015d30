/* Faults on demand.
 *
 * GRADLOOM_EMULATOR_FAIL=WHAT:N, several of them with commas, counted from when the text was set:
 *   alloc:N   the N-th allocation finds no memory
 *   launch:N  the N-th launch gets an error of its own, and the card goes on
 *   sticky:N  the N-th kernel that runs accesses an illegal address; said at the next synchronisation, and from then on
 *   lost:N    from the N-th call on the card is lost */
#include <algorithm>
#include <mutex>
#include <stdlib.h>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/stream.h"

namespace emulated
{
namespace
{
std::string wish;
std::vector<std::pair<std::string, long>> counts;
bool pending, lost;

/* A misspelt wish would test nothing. */
void
check_wish (void)
{
  static const char *const words[] = { "alloc", "launch", "sticky", "lost" };

  for (size_t at = 0; at < wish.size ();)
    {
      size_t end = std::min (wish.find (',', at), wish.size ()), colon = wish.find (':', at);
      bool good = colon < end && end > colon + 1 && atol (wish.c_str () + colon + 1) > 0
                  && wish.find_first_not_of ("0123456789", colon + 1) >= end;
      bool known = false;

      for (const char *word : words)
        known = known || (good && wish.compare (at, colon - at, word) == 0);
      if (!known)
        found ("GRADLOOM_EMULATOR_FAIL is “%s”, but it takes WHAT:N, several with commas, where WHAT is alloc, launch, "
               "sticky or lost and N counts from 1",
               wish.c_str ());
      at = end + 1;
    }
}

/* How often this was asked since the wish was made. */
long
count (const char *what)
{
  const char *text = getenv ("GRADLOOM_EMULATOR_FAIL");

  if (wish != (text != NULL ? text : ""))
    {
      wish = text != NULL ? text : "";
      counts.clear ();
      check_wish ();
    }
  for (auto &entry : counts)
    if (entry.first == what)
      return ++entry.second;
  counts.push_back ({ what, 1 });
  return 1;
}

/* The N of WHAT:N; 0 without it. */
long
wished (const char *what)
{
  size_t at = 0;

  while (at < wish.size ())
    {
      size_t end = wish.find (',', at), colon = wish.find (':', at);

      end = end == std::string::npos ? wish.size () : end;
      if (colon < end && wish.compare (at, colon - at, what) == 0)
        return atol (wish.c_str () + colon + 1);
      at = end + 1;
    }
  return 0;
}
}

bool
fails (const char *what)
{
  std::lock_guard<std::recursive_mutex> hold (device);
  long n = count (what);

  return wished (what) == n;
}

cudaError_t
standing (void)
{
  std::lock_guard<std::recursive_mutex> hold (device);

  if (fails ("lost"))
    lost = true;
  return lost ? cudaErrorIllegalAddress : cudaSuccess;
}

void
fault (void)
{
  pending = true;
}

bool
faulted (void)
{
  return pending || lost;
}

cudaError_t
waited (void)
{
  std::lock_guard<std::recursive_mutex> hold (device);

  if (pending)
    lost = true;
  return standing ();
}
}
