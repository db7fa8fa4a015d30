/* Prints the reference of the command line as Markdown, from the same tables as the manual page: commands and options,
 * the environment, and the attributes of the graph file. The build generates the page, so it cannot differ from the
 * program. */
#include "app/manual.h"

#include <stdio.h>

static void
print_option (const GOptionEntry *entry)
{
  printf ("| `");
  if (entry->short_name)
    printf ("-%c, ", entry->short_name);
  printf ("--%s", entry->long_name);
  if (entry->arg != G_OPTION_ARG_NONE)
    printf ("=%s", entry->arg_description != NULL ? entry->arg_description : "VALUE");
  printf ("` | ");
  manual_print_cell (entry->description);
  printf (" |\n");
}

static void
print_options (const Command *command, const GOptionEntry *entries, gpointer data)
{
  if (entries->long_name == NULL)
    return;
  printf ("\n| option | meaning |\n|---|---|\n");
  for (; entries->long_name != NULL; entries++)
    print_option (entries);
}

/* Prints paragraphs; lines that begin with blanks are examples. */
static void
print_details (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  gboolean example = FALSE;

  printf ("\n");
  for (char **line = lines; *line != NULL; line++)
    {
      gboolean set_in = g_str_has_prefix (*line, "  ");

      if (set_in != example)
        printf (set_in ? "```sh\n" : "```\n");
      example = set_in;
      if (example)
        printf ("%s\n", *line + 2);
      else
        {
          manual_print_cell (*line);
          printf ("\n");
        }
    }
  if (example)
    printf ("```\n");
}

void
manual_print_markdown (const Command *const *commands, guint n)
{
  printf ("# The command line of Gradloom %s\n\nMade by `gradloom help markdown`.\n", LOOM_VERSION);
  for (guint i = 0; i < n; i++)
    {
      printf ("\n## gradloom %s\n\n`gradloom %s%s%s`: ", commands[i]->name, commands[i]->name,
              *commands[i]->arguments ? " " : "", commands[i]->arguments);
      manual_print_cell (commands[i]->summary);
      printf (".\n");
      command_describe (commands[i], print_options, NULL);
      if (commands[i]->details != NULL)
        print_details (commands[i]->details);
    }
  printf ("\n## Exit status\n\n");
  manual_print_cell (command_statuses);
  printf ("\n\n## Environment\n\n| variable | meaning |\n|---|---|\n");
  for (const LoomEnv *e = loom_env_table (); e->name != NULL; e++)
    {
      printf ("| `%s` | %s", e->name, e->for_tests ? "For tests. " : "");
      manual_print_cell (e->doc);
      printf (" |\n");
    }
  printf ("\n## Attributes of the graph file\n");
  manual_print_attributes ();
}
