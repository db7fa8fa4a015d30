/* `gradloom-lab`: measures graphs and devices, simulates other machines and compares settings.
 *
 * It is a separate program, because training needs none of it; `gradloom bench …` starts it. `--commands` describes its
 * commands as JSON, which `gradloom` prints in help, manual and completions. */
#include "app/lab/commands.h"
#include "app/shared/description.h"

#include <stdio.h>
#include <string.h>

static const Command *const commands[] = {
  &command_bench, &command_transfer, &command_simulate, &command_sweep, &command_gradcheck,
};

static int
print_usage (FILE *to)
{
  fprintf (to, "Usage: gradloom-lab COMMAND …\n\nMeasures and compares; “gradloom COMMAND” starts it.\n\n");
  command_print_list (to, commands, G_N_ELEMENTS (commands));
  return to == stdout ? command_finish (0) : 2;
}

int
main (int argc, char **argv)
{
  command_prepare (argv);
  if (argc < 2)
    return print_usage (stderr);
  if (strcmp (argv[1], "--help") == 0)
    return print_usage (stdout);
  if (strcmp (argv[1], "--commands") == 0)
    {
      description_print (commands, G_N_ELEMENTS (commands));
      return command_finish (0);
    }
  const Command *command = command_find (argv[1], commands, G_N_ELEMENTS (commands));
  return command != NULL ? command_finish (command->run (command, argc - 1, argv + 1)) : print_usage (stderr);
}
