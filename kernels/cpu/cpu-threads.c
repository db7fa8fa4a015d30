/* Threads: their number, the division of work among them, and how they wait.
 *
 * OpenMP's threads wait by spinning, because a parallel region then begins at once; waking a sleeping thread takes a
 * system call and a scheduler's decision. On a machine with other work spinning is wrong: a spinning thread keeps a
 * core from a program whose result is needed, so two simultaneous trainings take many times as long as one after
 * another. Which of the two is better changes while a program runs, but libgomp reads the time to spin only when it is
 * loaded.
 *
 * However, while a process has more OpenMP threads than processors, libgomp spins only for a microsecond and then
 * sleeps. So while the system makes our threads wait for a processor, a spare team of sleeping threads exists, and it
 * is dismissed when they no longer wait. The kernel reports the time of waiting (/proc/…/schedstat, whose second number
 * is nanoseconds of readiness without a processor); without this report nothing changes. */
#include "kernels/cpu/cpu.h"

#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

/* ---- number of threads ------------------------------------------------ */

/* Reads the first line of a file, empty if it has none; false if the file does not exist. */
static bool
read_line (const char *folder, const char *name, char *text, int size)
{
  char *path;
  FILE *file;

  if (asprintf (&path, "%s/%s", folder, name) < 0)
    return false;
  file = fopen (path, "r");
  free (path);
  if (file == NULL)
    return false;
  if (fgets (text, size, file) == NULL)
    text[0] = '\0';
  fclose (file);
  return true;
}

/* Reads the two numbers of a file like "200000 100000", or those of two files; false if there is no limit. */
static bool
read_quota (const char *folder, const char *quota_file, const char *period_file, double *processors)
{
  char text[64], rest[64];
  double quota = 0, period = 0;

  if (!read_line (folder, quota_file, text, sizeof text))
    return false;
  if (period_file == NULL)
    sscanf (text, "%lf %lf", &quota, &period);
  else if (!read_line (folder, period_file, rest, sizeof rest))
    return false;
  else if (sscanf (text, "%lf", &quota) == 1)
    sscanf (rest, "%lf", &period);
  if (quota <= 0 || period <= 0)
    return false;
  *processors = quota / period;
  return true;
}

int
cpu_quota (const char *root, const char *membership)
{
  FILE *file = fopen (membership, "r");
  char *line = NULL;
  size_t size = 0;
  double least = 0, here;

  while (file != NULL && getline (&line, &size, file) >= 0)
    {
      char *controllers = strchr (line, ':'), *path = controllers != NULL ? strchr (controllers + 1, ':') : NULL;
      bool second;

      if (path == NULL)
        continue;
      *path++ = '\0';
      path[strcspn (path, "\n")] = '\0';
      second = controllers[1] == '\0';
      if (!second && strcmp (controllers + 1, "cpu") != 0 && strstr (controllers, "cpu,") == NULL
          && strstr (controllers, ",cpu") == NULL)
        continue;
      /* The limit of a group also applies to groups inside it, so all groups up to the root are read. */
      for (;;)
        {
          char *slash = strrchr (path, '/'), *folder;

          if (asprintf (&folder, "%s%s%s", root, second ? "" : "/cpu", strcmp (path, "/") == 0 ? "" : path) < 0)
            break;
          if ((second ? read_quota (folder, "cpu.max", NULL, &here)
                      : read_quota (folder, "cpu.cfs_quota_us", "cpu.cfs_period_us", &here))
              && (least == 0 || here < least))
            least = here;
          free (folder);
          if (slash == NULL || path[0] == '\0')
            break;
          *slash = '\0';
        }
    }
  free (line);
  if (file != NULL)
    fclose (file);
  return least == 0 ? 0 : least < 1 ? 1 : least > 1e6 ? 1000000 : (int)(least + 0.999);
}

int
cpu_processors (void)
{
  static _Atomic int processors; /* constant during the life of the process */

  if (processors == 0)
    {
      int n = omp_get_num_procs (), quota = cpu_quota ("/sys/fs/cgroup", "/proc/self/cgroup");
      const char *given = getenv ("GRADLOOM_CPU_PROCESSORS"); /* for tests */

      processors = given != NULL && atoi (given) > 0 ? atoi (given) : quota > 0 && quota < n ? quota : n;
    }
  return processors;
}

/* ---- division of work ------------------------------------------------- */

void
cpu_thread_limit (int threads)
{
  omp_set_num_threads (threads);
}

void
cpu_parallel (int threads, int64_t n, CpuPart part, void *context)
{
  if (threads == 1)
    {
      if (n > 0)
        part (context, 0, n);
      return;
    }
#pragma omp parallel num_threads(threads)
  {
    int64_t me = omp_get_thread_num (), all = omp_get_num_threads ();
    int64_t from = n * me / all, to = n * (me + 1) / all;

    if (from < to)
      part (context, from, to);
  }
}

/* ---- the spare team --------------------------------------------------- */

static struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int wanted; /* number of watched threads that need the spare team */
  int size;
  bool there;
} spare = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *
be_spare (void *data)
{
  pthread_mutex_lock (&spare.lock);
#pragma omp parallel num_threads(spare.size)
  {
#pragma omp barrier /* OpenMP would not create a team without work */
  }
  while (spare.wanted > 0)
    pthread_cond_wait (&spare.changed, &spare.lock);
  spare.there = false;
  pthread_mutex_unlock (&spare.lock);
  return NULL; /* the team ends with the thread that created it */
}

void
cpu_wait_asleep (bool asleep, int threads)
{
  pthread_attr_t attr;
  pthread_t thread;

  pthread_mutex_lock (&spare.lock);
  spare.wanted += asleep ? 1 : -1;
  if (asleep && !spare.there && pthread_attr_init (&attr) == 0)
    {
      /* One more thread than processors, together with the working threads. */
      spare.size = omp_get_num_procs () - threads + 2;
      spare.size = spare.size < 2 ? 2 : spare.size;
      pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
      spare.there = pthread_create (&thread, &attr, be_spare, NULL) == 0;
      pthread_attr_destroy (&attr);
    }
  pthread_cond_signal (&spare.changed);
  pthread_mutex_unlock (&spare.lock);
}

/* ---- waiting ---------------------------------------------------------- */

#define SAMPLE_EVERY_CALLS 32
#define SAMPLE_EVERY_NS    100e6
/* The fraction of time for which the threads together waited for a processor. Two trainings of two threads on two
 * processors make each other wait for more than BUSY_SHARE of it, whether they spin or sleep; on a quiet machine it is
 * less than QUIET_SHARE (two runs of `gradloom train` at once, and one). */
#define BUSY_SHARE  0.4
#define QUIET_SHARE 0.25
/* Sleeping threads also wait for processors, so spinning is tried again every two seconds. */
#define RETRY_EVERY_SAMPLES 20

/* One team, as its first thread observes it. */
typedef struct
{
  int threads;
  unsigned calls, samples;
  double since, waited; /* nanoseconds: of the clock; of waiting of all threads */
  bool kept_waiting;
  int file[]; /* by thread; -1 if the kernel reports nothing */
} Watch;

static _Thread_local Watch *watch;
static pthread_key_t watch_key;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;

static void
watch_free (void *data)
{
  Watch *w = data;

  if (w->kept_waiting)
    cpu_wait_asleep (false, w->threads);
  for (int i = 0; i < w->threads; i++)
    if (w->file[i] >= 0)
      close (w->file[i]);
  free (w);
}

static void
make_watch_key (void)
{
  pthread_key_create (&watch_key, watch_free);
}

static double
clock_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds for which the team's threads were ready and had no processor; -1 if one of them has no report. */
static double
waited_ns (const Watch *w)
{
  double sum = 0;

  for (int i = 0; i < w->threads; i++)
    {
      char text[96];
      unsigned long long ran, waited;
      ssize_t n = w->file[i] >= 0 ? pread (w->file[i], text, sizeof text - 1, 0) : -1;

      if (n <= 0)
        return -1;
      text[n] = '\0';
      if (sscanf (text, "%llu %llu", &ran, &waited) != 2)
        return -1;
      sum += (double)waited;
    }
  return sum;
}

static void
open_files (Watch *w)
{
#pragma omp parallel num_threads(w->threads)
  {
    int me = omp_get_thread_num ();

    if (w->file[me] >= 0)
      close (w->file[me]);
    w->file[me] = open ("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  }
  w->since = clock_ns ();
  w->waited = waited_ns (w);
}

bool
cpu_is_kept_waiting (bool so_far, double share, unsigned samples)
{
  return so_far ? share >= QUIET_SHARE && samples % RETRY_EVERY_SAMPLES != 0 : share > BUSY_SHARE;
}

static void
sample (Watch *w)
{
  double now = clock_ns (), waited, share;

  if (now - w->since < SAMPLE_EVERY_NS)
    return;
  waited = waited_ns (w);
  if (waited < 0)
    {
      /* A team that was smaller meanwhile has other threads now. */
      open_files (w);
      return;
    }
  share = (waited - w->waited) / (now - w->since);
  w->since = now;
  w->waited = waited;
  if (w->kept_waiting != cpu_is_kept_waiting (w->kept_waiting, share, ++w->samples))
    {
      w->kept_waiting = !w->kept_waiting;
      cpu_wait_asleep (w->kept_waiting, w->threads);
    }
}

/* ---- preparing -------------------------------------------------------- */

static _Thread_local int prepared_for; /* the number of threads of this thread's team */

static void
flush_denormals (void)
{
#ifdef __SSE__
  _mm_setcsr (_mm_getcsr () | 0x8040u); /* flush to zero, denormals are zero */
#endif
}

static void
prepare (int threads)
{
  prepared_for = threads;
  omp_set_dynamic (0);
  omp_set_num_threads (threads);
#pragma omp parallel num_threads(threads)
  flush_denormals ();
  if (watch != NULL)
    watch_free (watch);
  pthread_once (&watch_once, make_watch_key);
  watch = threads > 1 ? malloc (sizeof *watch + (size_t)threads * sizeof watch->file[0]) : NULL;
  pthread_setspecific (watch_key, watch);
  if (watch == NULL)
    return;
  memset (watch, 0, sizeof *watch);
  watch->threads = threads;
  for (int i = 0; i < threads; i++)
    watch->file[i] = -1;
  open_files (watch);
}

void
cpu_thread_prepare (const LoomDevice *device)
{
  if (device->team > 0)
    return; /* run_parts() has prepared the team */
  if (prepared_for != device->threads)
    prepare (device->threads);
  if (watch != NULL && ++watch->calls % SAMPLE_EVERY_CALLS == 0)
    sample (watch);
}
