/* `gradloom`: finds the command in the table below and calls it. */
#include "app/commands.h"
#include "app/laboratory.h"
#include "app/manual.h"
#include "app/shared/catalogue.h"

#include <stdio.h>
#include <string.h>

static const GOptionEntry no_options[] = { { NULL } };

/* The descriptions that `gradloom-lab` prints of these commands replace the ones here. */
#define LABORATORY(NAME)                                                                                               \
  &(const Command)                                                                                                     \
  {                                                                                                                    \
    .name = NAME, .arguments = "…", .summary = "(the program gradloom-lab is missing)", .run = laboratory_run,         \
    .options = no_options                                                                                              \
  }

static const Command *const commands[] = {
  &command_check,
  &command_train,
  &command_eval,
  &command_run,
  &command_program,
  &command_plan,
  LABORATORY ("bench"),
  &command_ops,
  &command_devices,
  &command_worker,
  &command_export,
  &command_import,
  &command_predict,
  &command_generate,
  &command_diff,
  &command_arrange,
  &command_new,
  LABORATORY ("transfer"),
  LABORATORY ("simulate"),
  LABORATORY ("sweep"),
  &command_runs,
  &command_queue,
  &command_attach,
  &command_hand_in,
  &command_grade,
  &command_remote,
  &command_mcp,
};

const Command *const *
commands_described (guint *n)
{
  static GPtrArray *table;

  if (table == NULL)
    table = laboratory_describe (commands, G_N_ELEMENTS (commands));
  *n = table->len;
  return (const Command *const *)table->pdata;
}

static void
print_help (FILE *to)
{
  g_autoptr (GPtrArray) table = laboratory_describe (commands, G_N_ELEMENTS (commands));

  fprintf (to, "Usage: gradloom COMMAND …\n\nDraw a network, watch it learn, run it anywhere.\n\n");
  command_print_list (to, (const Command *const *)table->pdata, table->len);
  fprintf (to,
           "\ngradloom COMMAND --help describes a command; gradloom help markdown and help man print the manual,\n"
           "help format the attributes of graph files, help json the lines of --json, and help bash, zsh and fish\n"
           "completions. Exit status: %s",
           command_statuses);
}

/* `gradloom help WORD`: a command's help, or what manual_print() prints. */
static int
help_with (const char *word)
{
  const Command *command = command_find (word, commands, G_N_ELEMENTS (commands));
  char *argv[] = { (char *)word, (char *)"--help", NULL };

  if (command != NULL)
    return command->run (command, 2, argv);
  g_autoptr (GPtrArray) table = laboratory_describe (commands, G_N_ELEMENTS (commands));
  if (manual_print (word, (const Command *const *)table->pdata, table->len))
    return 0;
  fprintf (stderr,
           "gradloom: there is no help on “%s”. Name a command, or man, markdown, format, json, bash, zsh or fish.\n",
           word);
  return 2;
}

static int
report_unknown (const char *word)
{
  const char *names[G_N_ELEMENTS (commands) + 1] = { NULL };

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i]->name;
  const char *near = loom_nearest (word, names);
  g_autofree char *shown = command_printable (word);
  fprintf (stderr, "gradloom: there is no command “%s”.%s%s%s See gradloom --help.\n", shown,
           near != NULL ? " Did you mean “" : "", near != NULL ? near : "", near != NULL ? "”?" : "");
  return 2;
}

/* Faults are worded for people, unless a program reads them. */
static void
choose_language (char **argv)
{
  static const char *const for_programs[] = { "worker", "mcp", NULL };
  const gboolean is_for_programs = argv[1] == NULL || g_strv_contains (for_programs, argv[1])
                                   || g_strv_contains ((const char *const *)argv, "--json");

  if (!is_for_programs)
    catalogue_bind ();
}

int
main (int argc, char **argv)
{
  command_prepare (argv);
  choose_language (argv);
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
  const Command *command = command_find (argv[1], commands, G_N_ELEMENTS (commands));
  return command == NULL ? report_unknown (argv[1]) : command_finish (command->run (command, argc - 1, argv + 1));
}
