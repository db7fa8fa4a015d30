/* The first actions of a program with commands; see command_prepare(). */
#include "app/shared/command.h"
#include "app/shared/truncated.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>


/* Threads of OpenMP that wait by spinning save a few microseconds in each parallel region, but waste much time if other
 * programs need the processors. So they spin only as long as the serial work between two regions lasts; while the
 * machine is busy, kernels/cpu/cpu-threads.c makes them sleep at once. The library reads its settings when it is
 * loaded, before main(), so the program restarts itself once with them. */
static void
spin_shortly (char **argv)
{
  if (getenv ("OMP_WAIT_POLICY") != NULL || getenv ("GOMP_SPINCOUNT") != NULL)
    return;
  setenv ("GOMP_SPINCOUNT", "10000", 1);
  /* By its own path, because the kernel names a process by the last part of the executed path. */
  g_autofree char *path = loom_path_link ("/proc/self/exe");
  if (path == NULL)
    return;
  execv (path, argv); /* if that fails, the program still runs */
}

void
command_prepare (char **argv)
{
  spin_shortly (argv);
  /* A limit on the size of files then causes an error of the write, which is reported, instead of ending the process.
   */
  signal (SIGXFSZ, SIG_IGN);
  g_autoptr (GError) truncated = g_error_new_literal (LOOM_ERROR, LOOM_ERROR_IO, "");
  truncated_exit_with ("gradloom", loom_error_exit_status (truncated));

  /* Messages may be translated, numbers may not: files and JSON use the C locale. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");

  loom_check_install_if_set ();
}
