/* Preloaded into Studio: where it was when a complaint of GLib's, or a crash, ended it.
 *
 * G_DEBUG=fatal-criticals ends the program by a trap, and what a test would otherwise know of that is the complaint.
 * `addr2line -fe PROGRAM ADDRESS` names the functions of Studio's own, whose addresses are in the brackets after its
 * name. */
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
trapped (int number)
{
  static const char head[] = "backtrace:\n";
  void *frame[64];
  ssize_t written = write (STDERR_FILENO, head, sizeof head - 1);

  (void)written;
  backtrace_symbols_fd (frame, backtrace (frame, 64), STDERR_FILENO);
  signal (number, SIG_DFL);
  raise (number);
}

__attribute__ ((constructor)) static void
watch (void)
{
  void *frame[1];

  /* The session's bus, and the programs that Studio starts, end as they always do. */
  if (strcmp (program_invocation_short_name, "gradloom-studio") != 0)
    return;
  if (getenv ("GRADLOOM_TEST_STALLS") == NULL)
    unsetenv ("LD_PRELOAD"); /* otherwise stutter.c is preloaded, also into the programs that it starts */
  backtrace (frame, 1); /* loads the library that walks frames, which a handler must not */
  signal (SIGTRAP, trapped);
  signal (SIGSEGV, trapped);
}
