/* Faults on demand.
 *
 * GRADLOOM_EMULATOR_FAIL=WHAT:N, several separated by commas, counted from when the variable was set:
 *   alloc:N   the N-th allocation finds no memory
 *   launch:N  the N-th launch gets an error of its own, and the GPU continues
 *   sticky:N  the N-th kernel that runs accesses an illegal address; reported at the next synchronisation, and from
 *   then on
 *   lost:N    from the N-th call on the GPU is lost
 *   heuristics:N  the N-th query for engines of an operation graph fails within cuDNN
 *   nccl:N    the N-th communicator of NCCL cannot be made; nccl-missing:1 removes NCCL, solver-missing:1 cuSOLVER */
#include <algorithm>
#include <mutex>
#include <stdlib.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

namespace emulated
{
namespace
{
std::string failure_spec;
std::vector<std::pair<std::string, long>> counts;
bool pending, lost;

/* A misspelt request would test nothing. */
void
check_failure_spec (void)
{
  static const char *const words[] = { "alloc", "launch", "sticky", "lost", "heuristics", "nccl", "nccl-missing",
                                       "solver-missing" };

  for (size_t at = 0; at < failure_spec.size ();)
    {
      size_t end = std::min (failure_spec.find (',', at), failure_spec.size ()), colon = failure_spec.find (':', at);
      bool good = colon < end && end > colon + 1 && atol (failure_spec.c_str () + colon + 1) > 0
                  && failure_spec.find_first_not_of ("0123456789", colon + 1) >= end;
      bool known = false;

      for (const char *word : words)
        known = known || (good && failure_spec.compare (at, colon - at, word) == 0);
      if (!known)
        found ("GRADLOOM_EMULATOR_FAIL is “%s”, but it takes WHAT:N, several with commas, where WHAT is alloc, launch, "
               "sticky, lost, heuristics, nccl, nccl-missing or solver-missing and N counts from 1",
               failure_spec.c_str ());
      at = end + 1;
    }
}

/* The number of calls of `what` since the variable was set. */
long
count (const char *what)
{
  const char *text = getenv ("GRADLOOM_EMULATOR_FAIL");

  if (failure_spec != (text != NULL ? text : ""))
    {
      failure_spec = text != NULL ? text : "";
      counts.clear ();
      check_failure_spec ();
    }
  for (auto &entry : counts)
    if (entry.first == what)
      return ++entry.second;
  counts.push_back ({ what, 1 });
  return 1;
}

/* The N of WHAT:N; 0 without it. */
long
failing_call (const char *what)
{
  size_t at = 0;

  while (at < failure_spec.size ())
    {
      size_t end = failure_spec.find (',', at), colon = failure_spec.find (':', at);

      end = end == std::string::npos ? failure_spec.size () : end;
      if (colon < end && failure_spec.compare (at, colon - at, what) == 0)
        return atol (failure_spec.c_str () + colon + 1);
      at = end + 1;
    }
  return 0;
}
}

bool
has_defect (const char *name)
{
  const char *wanted = getenv ("GRADLOOM_EMULATOR_DEFECT");

  return wanted != NULL && strcmp (wanted, name) == 0;
}

bool
fails (const char *what)
{
  std::lock_guard<emulated::Turn> hold (device);
  long n = count (what);

  return failing_call (what) == n;
}

cudaError_t
standing (void)
{
  std::lock_guard<emulated::Turn> hold (device);

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
  std::lock_guard<emulated::Turn> hold (device);

  if (pending)
    lost = true;
  return standing ();
}
}
