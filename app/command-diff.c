/* `gradloom diff`: compares the meaning of two graphs, for people, programs and git.
 *
 * git calls the command in diff.DRIVER.command with seven arguments (nine for a renamed file) and expects status 0 with
 * any result, so that it can continue with the next file. */
#include "app/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum
{
  PLAIN,
  HEAD,
  ADDED,
  REMOVED,
  CHANGED,
  RENAMED,
  N_STYLES
} Style;

typedef struct
{
  gboolean color, json;
} Printer;

/* ---- for people --------------------------------------------------------- */

static const char *
style (const Printer *p, Style style)
{
  static const char *const codes[N_STYLES] = { "\033[m", "\033[1m", "\033[32m", "\033[31m", "\033[33m", "\033[36m" };

  return p->color ? codes[style] : "";
}

static void
print_difference (const Printer *p, const LoomDifference *d)
{
  g_autofree char *words = loom_difference_to_string (d, command_printable);

  printf ("  %s%s %s%s\n", style (p, ADDED + (Style)d->kind), loom_difference_sign (d->kind), words, style (p, PLAIN));
}

static void
print_differences (const Printer *p, const GPtrArray *list)
{
  g_autofree char *section = NULL;

  for (guint i = 0; i < list->len; i++)
    {
      const LoomDifference *d = list->pdata[i];
      g_autofree char *head = loom_difference_section (d, command_printable);
      if (g_strcmp0 (head, section) != 0)
        printf ("%s%s%s\n", style (p, HEAD), head, style (p, PLAIN));
      g_free (section);
      section = g_steal_pointer (&head);
      print_difference (p, d);
    }
}

/* ---- for programs ------------------------------------------------------- */

static void
add_change (LoomJson *json, const LoomAttributeChange *change)
{
  loom_json_begin_object (json, NULL);
  loom_json_string (json, "attribute", change->attribute);
  loom_json_string (json, "before", change->before);
  loom_json_string (json, "after", change->after);
  if (change->before_is_default || change->after_is_default)
    loom_json_string (json, "default", change->before_is_default ? "before" : "after");
  loom_json_end_object (json);
}

static void
print_json (const GPtrArray *list)
{
  LoomJson *json;

  for (guint i = 0; i < list->len; i++)
    {
      const LoomDifference *d = list->pdata[i];
      json = command_event_new (loom_difference_kind_name (d->kind));
      loom_json_string (json, "what", d->what);
      loom_json_string (json, "module", d->scope);
      loom_json_string (json, "name", d->name);
      if (d->old_name != NULL)
        loom_json_string (json, "old_name", d->old_name);
      if (d->type != NULL)
        loom_json_string (json, "type", d->type);
      if (d->is_cosmetic)
        loom_json_bool (json, "cosmetic", TRUE);
      loom_json_begin_array (json, "changes");
      for (guint k = 0; k < d->changes->len; k++)
        add_change (json, d->changes->pdata[k]);
      loom_json_end_array (json);
      command_event_print (json);
    }
  json = command_event_new ("total");
  loom_json_int (json, "differences", list->len);
  command_event_print (json);
}

/* ---- files -------------------------------------------------------------- */

static LoomGraph *
read_standard_input (GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GByteArray) text = g_byte_array_new ();
  guint8 block[65536];
  gsize n;

  while ((n = fread (block, 1, sizeof block, stdin)) > 0 && text->len <= 64u << 20)
    g_byte_array_append (text, block, n);
  g_autoptr (LoomGraph) graph
      = loom_graph_read_data ((const char *)text->data, text->len, "standard input", faults, error);
  return graph && loom_faults_to_error (faults, "standard input", error) ? g_steal_pointer (&graph) : NULL;
}

/* git passes /dev/null for a file that does not exist on that side. */
static LoomGraph *
read_side (const char *path, GError **error)
{
  if (g_str_equal (path, "-"))
    return read_standard_input (error);
  return g_str_equal (path, "/dev/null") ? loom_graph_new (NULL) : command_read_graph (path, error);
}

static gboolean
use_color (const char *when, gboolean for_git)
{
  const char *terminal = g_getenv ("TERM"), *refused = g_getenv ("NO_COLOR");

  if (when != NULL && !g_str_equal (when, "auto"))
    return g_str_equal (when, "always");
  if ((refused != NULL && *refused) || terminal == NULL || g_str_equal (terminal, "dumb"))
    return FALSE;
  /* Git's pager writes to a terminal, too. */
  return isatty (STDOUT_FILENO) || (for_git && g_getenv ("GIT_PAGER_IN_USE") != NULL);
}

/* Reads one version of a file and prints its header line. NULL if it cannot be compared; the reason has been printed.
 */
static LoomGraph *
read_version (const Printer *p, const char *mark, const char *name, const char *file, char **failure)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *shown = command_printable (g_str_equal (file, "/dev/null") ? file : name);
  LoomGraph *graph = read_side (file, &error);

  if (graph == NULL)
    *failure = command_sentence (error->message);
  if (!p->json)
    printf ("%s%s %s%s\n", style (p, HEAD), mark, shown, style (p, PLAIN));
  return graph;
}

/* Arguments: PATH OLD OLD-HEX OLD-MODE NEW NEW-HEX NEW-MODE [NEW-PATH WHAT]. Always returns 0, and prints a sentence if
 * a version cannot be read, because git stops at any other status. */
static int
run_for_git (const Printer *p, char **argv, gboolean renamed, gboolean all)
{
  g_autofree char *old_failure = NULL, *new_failure = NULL;
  g_autoptr (LoomGraph) a = read_version (p, "---", argv[1], argv[2], &old_failure);
  g_autoptr (LoomGraph) b = read_version (p, "+++", argv[renamed ? 8 : 1], argv[5], &new_failure);

  if (old_failure != NULL)
    printf ("  The old version is not a graph that can be compared: %s\n", old_failure);
  if (new_failure != NULL)
    printf ("  The new version is not a graph that can be compared: %s\n", new_failure);
  if (a == NULL || b == NULL)
    return 0;
  g_autoptr (GPtrArray) list = loom_graph_diff (a, b, all);
  if (p->json)
    print_json (list);
  else if (list->len > 0)
    print_differences (p, list);
  else
    printf ("  No computation differs%s\n",
            all ? "." : ", only layout, texts or the order of lines (--all shows layout and texts).");
  return 0;
}

static int
run_diff (const Command *command, int argc, char **argv)
{
  gboolean all = FALSE, quiet = FALSE;
  g_autofree char *color = NULL;
  Printer p = { 0 };
  const GOptionEntry entries[] = {
    { "all", 'a', 0, G_OPTION_ARG_NONE, &all, "Also compare titles, texts, layout and views, which change no result",
      NULL },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Print nothing, only set the exit status", NULL },
    { "color", 0, 0, G_OPTION_ARG_STRING, &color, "auto (default: on a terminal), always or never", "WHEN" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &p.json, "Print one JSON object for each difference", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (color != NULL && !g_str_equal (color, "auto") && !g_str_equal (color, "always") && !g_str_equal (color, "never"))
    return command_usage (command, "--color takes auto, always or never, not “%s”.", color);
  gboolean for_git = argc == 8 || argc == 10;
  p.color = !p.json && use_color (color, for_git);
  if (for_git)
    return run_for_git (&p, argv, argc == 10, all);
  if (argc == 2 && g_getenv ("GIT_DIFF_PATH_TOTAL") != NULL)
    {
      g_autofree char *shown = command_printable (argv[1]);
      printf ("* “%s” is not merged yet\n", shown);
      return 0;
    }
  if (argc != 3)
    return command_usage (command, "It takes two graphs or run folders, A and B.");
  if (g_str_equal (argv[1], "-") && g_str_equal (argv[2], "-"))
    return command_usage (command, "Only one of the two can be standard input.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) a = read_side (argv[1], &error);
  g_autoptr (LoomGraph) b = a ? read_side (argv[2], &error) : NULL;
  if (b == NULL)
    {
      command_fail (command, g_steal_pointer (&error));
      return 2; /* 1 would mean that they differ */
    }
  g_autoptr (GPtrArray) list = loom_graph_diff (a, b, all);
  if (p.json && !quiet)
    print_json (list);
  else if (!quiet)
    print_differences (&p, list);
  if (!command_flush ())
    return 2; /* the result could not be printed */
  return list->len > 0 ? 1 : 0;
}

const Command command_diff = {
  .name = "diff",
  .arguments = "A B",
  .summary = "compare what two graphs compute: nodes, parameters, wires, training",
  .details
  = "A default that is written out equals one that is left out, 0.0010 equals 1e-3, and the order of lines does not\n"
    "matter. Renamed nodes and modules are recognised if the match is unique. A or B may be a run's folder, or -\n"
    "for standard input. + means added, - removed, ~ changed, > renamed.\n\n"
    "The exit status is that of diff(1): 0 no difference, 1 differences, 2 a graph cannot be read or the command\n"
    "line is wrong. (Other commands return 1 for a graph with faults, which here would mean a difference.) For git\n"
    "it is 0.\n\n"
    "As git's diff driver for all graphs of a repository:\n\n"
    "  git config diff.gradloom.command 'gradloom diff'\n"
    "  echo '*.xml diff=gradloom' >> .gitattributes",
  .run = run_diff,
};
