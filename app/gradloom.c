/* `gradloom`: finds the command in the table below and calls it. */
#include "app/command.h"
#include "app/manual.h"
#include "app/sweep.h"
#include "app/truncated.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command *const commands[] = {
  &command_check,   &command_train,  &command_eval,     &command_run,      &command_program,
  &command_plan,    &command_bench,  &command_ops,      &command_devices,  &command_worker,
  &command_export,  &command_import, &command_predict,  &command_generate, &command_diff,
  &command_arrange, &command_new,    &command_transfer, &command_simulate, &command_sweep,
};

static void
print_help (FILE *to)
{
  fprintf (to, "Usage: gradloom COMMAND …\n\nDraw a network, watch it learn, run it anywhere.\n\n");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    fprintf (to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
  fprintf (to,
           "\ngradloom COMMAND --help describes a command; gradloom help man, markdown, bash, zsh or fish\n"
           "prints the manual page, the manual as Markdown, or a shell's completion. Exit status: %s",
           command_statuses);
}

static const Command *
find_command (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

/* `gradloom help WORD`: a command's help, the manual page, or a shell's completion. */
static int
help_with (const char *word)
{
  const Command *command = find_command (word);
  char *argv[] = { (char *)word, (char *)"--help", NULL };

  if (command != NULL)
    return command->run (command, 2, argv);
  if (manual_print (word, commands, G_N_ELEMENTS (commands)))
    return 0;
  fprintf (stderr, "gradloom: there is no help on “%s”. Name a command, or one of man, markdown, bash, zsh and fish.\n",
           word);
  return 2;
}

/* Threads of OpenMP that wait by spinning gain a few microseconds at each parallel region, and lose everything where
 * another program wants the processor too. So they spin for as long as the serial work between two regions lasts, and
 * no longer; while the machine is busy kernels/cpu/cpu-threads.c makes them sleep at once. The library reads its
 * settings when it is loaded, which is before main(), so the program starts itself once more with them. */
static void
spin_shortly (char **argv)
{
  if (getenv ("OMP_WAIT_POLICY") != NULL || getenv ("GOMP_SPINCOUNT") != NULL)
    return;
  setenv ("GOMP_SPINCOUNT", "10000", 1);
  /* By its own path, since the kernel names a process by the last part of what was executed. */
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);
  if (path == NULL)
    return;
  execv (path, argv); /* if that fails, the program still runs */
}

int
main (int argc, char **argv)
{
  spin_shortly (argv);
  /* A limit on the size of files then is an error of the write that meets it, which has a sentence, and no silent end.
   */
  signal (SIGXFSZ, SIG_IGN);
  g_autoptr (GError) truncated = g_error_new_literal (LOOM_ERROR, LOOM_ERROR_IO, "");
  truncated_exit_with ("gradloom", loom_error_exit_status (truncated));

  /* Messages may be translated, numbers may not: files and JSON are in the C locale. */
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");

  loom_check_install_if_set ();
  if (argc < 2)
    {
      print_help (stderr);
      return 2;
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0 || (strcmp (argv[1], "help") == 0 && argc == 2))
    {
      print_help (stdout);
      return command_finish (0);
    }
  if (strcmp (argv[1], "help") == 0)
    return command_finish (help_with (argv[2]));
  if (strcmp (argv[1], "--version") == 0)
    {
      printf ("gradloom %s\n", LOOM_VERSION);
      return command_finish (0);
    }
  const Command *command = find_command (argv[1]);
  if (command == NULL)
    {
      const char *names[G_N_ELEMENTS (commands) + 1] = { NULL };
      for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
        names[i] = commands[i]->name;
      const char *near = loom_nearest (argv[1], names);
      g_autofree char *shown = command_printable (argv[1]);
      fprintf (stderr, "gradloom: there is no command “%s”.%s%s%s See gradloom --help.\n", shown,
               near != NULL ? " Did you mean “" : "", near != NULL ? near : "", near != NULL ? "”?" : "");
      return 2;
    }
  return command_finish (command->run (command, argc - 1, argv + 1));
}
