/* `gradloom ops` and `gradloom devices`: list operators and devices. */
#include "app/commands.h"
#include "app/library-modules.h"

#include <stdio.h>

/* One object per line, so that the same program can read all --json output. */
static void
print_json (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      g_autofree char *line = loom_op_json (*op);
      puts (line);
    }
}

static void
print_list (void)
{
  const LoomOp *const *ops = loom_ops ();

  for (LoomCategory category = 0; category < LOOM_CATEGORY_HIDDEN; category++)
    {
      printf ("%s\n", loom_category_title (category));
      for (guint i = 0; ops[i] != NULL; i++)
        if (ops[i]->category == category)
          printf ("  %-24s %s\n", ops[i]->name, ops[i]->doc);
    }
}

static void
report_unknown (const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; loom_ops ()[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer)loom_ops ()[i]->name);
  g_ptr_array_add (names, NULL);
  const char *near = loom_nearest (name, (const char *const *)names->pdata);
  const LoomOp *called = loom_op_by_synonym (name);
  g_autofree char *mentions = loom_ops_mentioning (name);

  fprintf (stderr, "gradloom ops: there is no operator “%s”.", name);
  if (called != NULL)
    fprintf (stderr, " Did you mean “%s”, which also has this name?", called->name);
  else if (near != NULL)
    fprintf (stderr, " Did you mean “%s”?", near);
  if (mentions != NULL && called == NULL)
    fprintf (stderr, " %s in: %s.", near != NULL ? "Also mentioned" : "Mentioned", mentions);
  fputc ('\n', stderr);
}

static int
run_ops (const Command *command, int argc, char **argv)
{
  gboolean json = FALSE, schema = FALSE, markdown = FALSE, example = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { "schema", 0, 0, G_OPTION_ARG_NONE, &schema, "RELAX NG schema of graph files", NULL },
    { "markdown", 0, 0, G_OPTION_ARG_NONE, &markdown, "A reference in Markdown", NULL },
    { "example", 0, 0, G_OPTION_ARG_NONE, &example, "With NAME: print a small example graph", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (json + schema + markdown > 1 || argc > 2 || (argc == 2 && (json || schema || markdown)))
    return command_usage (command, "It takes one NAME, or one of --json, --schema and --markdown.");
  if (example && argc != 2)
    return command_usage (command, "--example takes the NAME of an operator or module.");

  if (json)
    {
      print_json ();
      return 0;
    }
  if (schema || markdown)
    {
      g_autofree char *text = schema ? loom_schema () : loom_ops_markdown ();
      fputs (text, stdout);
      return 0;
    }
  if (argc == 1)
    {
      print_list ();
      return 0;
    }
  const LoomOp *op = loom_op (argv[1]);
  if (op == NULL)
    {
      g_autofree char *module = example ? library_module_text (argv[1]) : library_module_help (argv[1]);

      if (module == NULL)
        report_unknown (argv[1]);
      else
        fputs (module, stdout);
      return module != NULL ? 0 : 1;
    }
  g_autoptr (LoomGraph) graph = example ? loom_op_example (op) : NULL;
  g_autofree char *text = graph != NULL ? loom_graph_write (graph, NULL) : loom_op_help (op);
  fputs (text, stdout);
  return 0;
}

const Command command_ops = {
  .name = "ops",
  .arguments = "[NAME]",
  .summary = "list operators, describe one or a module of the library, or print the schema of graph files",
  .run = run_ops,
};

static void
device_cb (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data)
{
  gboolean json = GPOINTER_TO_INT (data);

  if (json)
    {
      LoomJson *line = command_event_new (why_not != NULL ? "no_device" : "device");
      loom_json_string (line, "name", name);
      if (why_not != NULL)
        loom_json_string (line, "reason", why_not);
      else
        {
          loom_json_string (line, "title", info->name);
          loom_json_int (line, "memory_total", (gint64)info->memory_total);
          loom_json_int (line, "memory_free", (gint64)info->memory_free);
          loom_json_int (line, "threads", info->threads);
        }
      command_event_print (line);
    }
  else if (why_not != NULL)
    printf ("%-8s not here: %s\n", name, why_not);
  else
    {
      g_autofree char *total = loom_bytes_to_string (info->memory_total),
                      *left = loom_bytes_to_string (info->memory_free);
      printf ("%-8s %s, %s of %s free\n", name, info->name, left, total);
    }
}

void
command_print_devices (gboolean as_json)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (0);

  loom_devices_foreach (devices, device_cb, GINT_TO_POINTER (as_json));
}

static int
run_devices (const Command *command, int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 1)
    return command_usage (command, "It takes no words.");
  command_print_devices (json);
  return 0;
}

const Command command_devices = {
  .name = "devices",
  .arguments = "",
  .summary = "list usable devices, and why others are not usable",
  .run = run_devices,
};
