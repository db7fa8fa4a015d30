/* Preloaded into Studio and the programs that it starts: an unlucky machine. What arrives at Studio by itself, in
 * whatever order a scheduler chooses, arrives late by a random time, so that a script meets the states in between.
 *
 * - Between two messages or lines that a worker, or another program of the run, writes to a pipe or a socket.
 * - At the end of a task that a thread of Studio's computes.
 * - Before an idle function, or a timer, of Studio's own; GTK's own, and their order, are left alone.
 *
 * GRADLOOM_TEST_STALLS is the seed. Nothing waits for more than 300 ms. */
#include <dlfcn.h>
#include <errno.h>
#include <gio/gio.h>
#include <link.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_MS       300
#define BEFORE_FRAMES (G_PRIORITY_HIGH_IDLE + 20) /* GDK_PRIORITY_REDRAW */
#define NEXT(name)    ((typeof (&(name)))dlsym (RTLD_NEXT, #name))

static gboolean stutters;
static ElfW (Addr) program_begin, program_end;

/* One sequence for each process, whose threads draw from it as they come. */
static guint
draw (void)
{
  static guint64 state;
  guint64 x = __atomic_add_fetch (&state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);

  if (x == 0x9e3779b97f4a7c15u)
    __atomic_add_fetch (&state,
                        (guint64)getpid () * 0x2545f4914f6cdd1du + (guint64)atoll (g_getenv ("GRADLOOM_TEST_STALLS")),
                        __ATOMIC_RELAXED);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (guint)(x >> 33);
}

/* Milliseconds; often 0. */
static guint
delay (guint one_in)
{
  return draw () % one_in == 0 ? draw () % (draw () % 4 == 0 ? MOST_MS : 60) : 0;
}

static int
program_cb (struct dl_phdr_info *info, size_t size, void *data)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X))
      {
        program_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        program_end = program_begin + info->dlpi_phdr[i].p_memsz;
      }
  return 1; /* the first is the program */
}

__attribute__ ((constructor)) static void
begin (void)
{
  const char *seed = g_getenv ("GRADLOOM_TEST_STALLS");

  stutters = seed != NULL && *seed != '\0' && g_str_has_prefix (program_invocation_short_name, "gradloom");
  dl_iterate_phdr (program_cb, NULL);
}

static void
wait_ms (guint ms)
{
  if (ms > 0)
    g_usleep (1000 * (gulong)ms);
}

/* ---- messages --------------------------------------------------------- */

static void
written (int fd)
{
  struct stat stat;

  if (stutters && fd > 2 && !g_str_equal (program_invocation_short_name, "gradloom-studio") && fstat (fd, &stat) == 0
      && (S_ISFIFO (stat.st_mode) || S_ISSOCK (stat.st_mode)))
    {
      int error = errno;

      wait_ms (delay (6));
      errno = error;
    }
}

ssize_t
write (int fd, const void *data, size_t n)
{
  ssize_t done = NEXT (write) (fd, data, n);

  written (fd);
  return done;
}

ssize_t
writev (int fd, const struct iovec *parts, int n)
{
  ssize_t done = NEXT (writev) (fd, parts, n);

  written (fd);
  return done;
}

ssize_t
sendmsg (int fd, const struct msghdr *message, int flags)
{
  ssize_t done = NEXT (sendmsg) (fd, message, flags);

  written (fd);
  return done;
}

/* ---- threads ---------------------------------------------------------- */

static void
computed (void)
{
  if (stutters && !g_main_context_is_owner (g_main_context_default ()))
    wait_ms (delay (2));
}

void
g_task_return_pointer (GTask *task, gpointer result, GDestroyNotify free)
{
  computed ();
  NEXT (g_task_return_pointer) (task, result, free);
}

void
g_task_return_boolean (GTask *task, gboolean result)
{
  computed ();
  NEXT (g_task_return_boolean) (task, result);
}

void
g_task_return_int (GTask *task, gssize result)
{
  computed ();
  NEXT (g_task_return_int) (task, result);
}

void
g_task_return_error (GTask *task, GError *error)
{
  computed ();
  NEXT (g_task_return_error) (task, error);
}

/* ---- idle functions and timers ---------------------------------------- */

static gboolean
is_own (void *caller)
{
  return stutters && (ElfW (Addr))caller >= program_begin && (ElfW (Addr))caller < program_end;
}

/* Those that were added first still come first. */
static guint
later (guint one_in)
{
  static gint64 last;
  gint64 now = g_get_monotonic_time () / 1000, due = now + delay (one_in);

  last = MAX (due, last);
  return (guint)(last - now);
}

guint
g_idle_add_full (int priority, GSourceFunc function, gpointer data, GDestroyNotify notify)
{
  /* What comes before the next frame is seen with it. */
  guint ms = is_own (__builtin_return_address (0)) && priority > BEFORE_FRAMES ? later (3) : 0;

  return ms > 0 ? NEXT (g_timeout_add_full) (priority, ms, function, data, notify)
                : NEXT (g_idle_add_full) (priority, function, data, notify);
}

guint
g_idle_add (GSourceFunc function, gpointer data)
{
  guint ms = is_own (__builtin_return_address (0)) ? later (3) : 0;

  return ms > 0 ? NEXT (g_timeout_add_full) (G_PRIORITY_DEFAULT_IDLE, ms, function, data, NULL)
                : NEXT (g_idle_add_full) (G_PRIORITY_DEFAULT_IDLE, function, data, NULL);
}

guint
g_timeout_add_full (int priority, guint interval, GSourceFunc function, gpointer data, GDestroyNotify notify)
{
  guint ms = is_own (__builtin_return_address (0)) ? delay (3) : 0;

  return NEXT (g_timeout_add_full) (priority, interval + ms, function, data, notify);
}

guint
g_timeout_add (guint interval, GSourceFunc function, gpointer data)
{
  guint ms = is_own (__builtin_return_address (0)) ? delay (3) : 0;

  return NEXT (g_timeout_add_full) (G_PRIORITY_DEFAULT, interval + ms, function, data, NULL);
}
