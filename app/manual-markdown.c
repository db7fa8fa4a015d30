/* Prints the reference of the command line as Markdown, from the same tables as the manual page: commands and options,
 * the attributes of <train> and its children, optimisers, schedules and metrics. The build generates the page, so it
 * cannot differ from the program. */
#include "app/manual.h"

#include <stdio.h>
#include <string.h>

/* Escapes text for a table's cell: a bar would begin the next cell, and < a tag of HTML. */
static void
print_cell (const char *text)
{
  for (; *text != '\0'; text++)
    if (*text == '|')
      printf ("\\|");
    else if (*text == '<')
      printf ("&lt;");
    else
      putchar (*text == '\n' ? ' ' : *text);
}

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
  print_cell (entry->description);
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
          print_cell (*line);
          printf ("\n");
        }
    }
  if (example)
    printf ("```\n");
}

static void
print_attributes (LoomTag tag)
{
  printf ("\n### `<%s>`\n\n| attribute | value | meaning |\n|---|---|---|\n", loom_tag_name (tag));
  for (const LoomAttribute *a = loom_attributes (tag); a->spec.name != NULL; a++)
    {
      g_autofree char *facts = loom_param_facts (&a->spec);

      printf ("| `%s` | ", a->spec.name);
      print_cell (facts);
      printf (" | ");
      print_cell (a->spec.doc);
      printf (" |\n");
    }
}

static void
print_optimizers (void)
{
  printf ("\n### Optimisers\n\n| `optimizer` | options, with defaults | meaning |\n|---|---|---|\n");
  for (const LoomOptimizer *const *each = loom_optimizers (); *each != NULL; each++)
    {
      printf ("| `%s` |", (*each)->name);
      for (const LoomHyper *hyper = (*each)->hyper; hyper != NULL && hyper->name != NULL; hyper++)
        {
          const char *value = loom_default_text (hyper->value, hyper->choices, hyper->is_bool);

          printf (" `%s`%s%s", hyper->name, value != NULL ? " " : "", value != NULL ? value : "");
        }
      printf (" | ");
      print_cell ((*each)->doc);
      printf (" |\n");
    }
}

static void
print_metrics (void)
{
  printf ("\n### Metrics\n\n| `type` | meaning |\n|---|---|\n");
  for (const LoomMetric *const *each = loom_metrics (); *each != NULL; each++)
    {
      printf ("| `%s` | ", (*each)->name);
      print_cell ((*each)->doc);
      printf (" |\n");
    }
}

void
manual_print_markdown (const Command *const *commands, guint n)
{
  static const LoomTag tags[] = { LOOM_TAG_GRAPH, LOOM_TAG_TRAIN,  LOOM_TAG_GROUP,   LOOM_TAG_SCHEDULE,
                                  LOOM_TAG_CLIP,  LOOM_TAG_METRIC, LOOM_TAG_PARALLEL };

  printf ("# The command line of Gradloom %s\n\nMade by `gradloom help markdown`.\n", LOOM_VERSION);
  for (guint i = 0; i < n; i++)
    {
      printf ("\n## gradloom %s\n\n`gradloom %s%s%s`: ", commands[i]->name, commands[i]->name,
              *commands[i]->arguments ? " " : "", commands[i]->arguments);
      print_cell (commands[i]->summary);
      printf (".\n");
      command_describe (commands[i], print_options, NULL);
      if (commands[i]->details != NULL)
        print_details (commands[i]->details);
    }
  printf ("\n## Exit status\n\n");
  print_cell (command_statuses);
  printf ("\n\n## Attributes of training\n");
  for (guint i = 0; i < G_N_ELEMENTS (tags); i++)
    print_attributes (tags[i]);
  print_optimizers ();
  print_metrics ();
}
