/* `gradloom export`: writes a graph in the formats of other programs. A new target is a file with an ExportTarget and a
 * line here. */
#include "app/commands.h"
#include "app/export-target.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

static const ExportTarget *const targets[]
    = { &export_onnx, &export_svg, &export_pdf, &export_png, &export_dot, &export_pytorch };

static const ExportTarget *
find_target (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    if (strcmp (targets[i]->name, name) == 0)
      return targets[i];
  return NULL;
}

/* "onnx, dot or svg": the targets. */
static char *
list_targets (void)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    g_ptr_array_add (names, (gpointer)targets[i]->name);
  GString *s = g_string_new (NULL);
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf (s, "%s%s", i == 0 ? "" : i + 1 == names->len ? " or " : ", ", (char *)names->pdata[i]);
  return g_string_free (s, FALSE);
}

char *
export_default_file (const ExportJob *job, const char *suffix)
{
  g_autofree char *base = g_path_get_basename (job->path);
  char *dot = strrchr (base, '.');

  if (dot != NULL && dot != base)
    *dot = 0;
  /* "." and "/" name no file. */
  if (strpbrk (base, "./") == base)
    strcpy (base, "g");
  return g_strdup_printf ("%s.%s", base, suffix);
}

/* "B=1": one capital letter and a positive number. */
static gboolean
read_size (const char *text, LoomBinding *sizes)
{
  gint64 n;

  if (!g_ascii_isupper (text[0]) || text[1] != '=' || !g_ascii_string_to_signed (text + 2, 10, 1, G_MAXINT32, &n, NULL))
    return FALSE;
  sizes->value[text[0] - 'A'] = n;
  return TRUE;
}

/* Refuses to overwrite a file that is also read. */
static gboolean
is_same_file (const char *a, const char *b)
{
  GStatBuf x, y;

  return a != NULL && b != NULL && g_stat (a, &x) == 0 && g_stat (b, &y) == 0 && x.st_dev == y.st_dev
         && x.st_ino == y.st_ino && S_ISREG (x.st_mode);
}

/* Refuses to overwrite an existing file with another suffix, which is probably a typing error. */
static gboolean
has_suffix (const ExportTarget *target, const char *file)
{
  const char *dot = file != NULL ? strrchr (file, '.') : NULL;

  return file == NULL || (dot != NULL && strcmp (dot + 1, target->suffix) == 0)
         || (target->streams && strcmp (file, "-") == 0);
}

static int
run_target (const ExportTarget *target, ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;

  /* Another program reads it, perhaps from standard input. */
  if (target->draws)
    return target->run (job);
  graph = command_read_graph (job->path, &error);
  job->graph = graph;
  if (graph == NULL || (target->needs_weights && !command_run_weights (job->path, &job->weights, &error)))
    return command_fail (job->command, g_steal_pointer (&error));
  return target->run (job);
}

/* The first option that this target does not support, or NULL. */
static const char *
find_stray (const ExportTarget *target, const ExportJob *job, char **sizes)
{
  if (!target->needs_weights)
    return job->weights != NULL   ? "weights"
           : job->partial         ? "partial"
           : job->seed >= 0       ? "seed"
           : job->inputs != NULL  ? "input"
           : job->outputs != NULL ? "output"
           : sizes != NULL        ? "size"
           : job->raw             ? "raw"
           : job->external_data   ? "external-data"
           : target->draws        ? NULL
           : job->module != NULL  ? "module"
           : job->dark            ? "dark"
           : job->transparent     ? "transparent"
                                  : NULL;
  return job->module != NULL ? "module" : job->dark ? "dark" : job->transparent ? "transparent" : NULL;
}

static int
run (const Command *command, int argc, char **argv)
{
  ExportJob job = { .command = command, .seed = -1 };
  g_autofree char *to = NULL;
  g_auto (GStrv) sizes = NULL;
  gboolean force = FALSE;
  const GOptionEntry entries[] = {
    { "to", 0, 0, G_OPTION_ARG_STRING, &to, "What to write", "TARGET" },
    { "file", 'o', 0, G_OPTION_ARG_FILENAME, &job.file,
      "The file to write (default: GRAPH with the target's suffix, here)", "FILE" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &force, "Without -o, overwrite an existing file", NULL },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &job.weights, "Weights (default: the run's newest, else initial values)",
      "F.safetensors" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &job.partial, "Allow weights that are missing or do not match", NULL },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &job.seed, "Seed of initial values (default: that of <train>, else 0)", "N" },
    { "output", 0, 0, G_OPTION_ARG_STRING_ARRAY, &job.outputs,
      "A port that becomes an output of the model; may be repeated", "NODE[.PORT]" },
    { "input", 0, 0, G_OPTION_ARG_STRING_ARRAY, &job.inputs,
      "A port that becomes an input of the model, also inside the graph", "NODE[.PORT]" },
    { "size", 0, 0, G_OPTION_ARG_STRING_ARRAY, &sizes, "Fix a dynamic size, such as B=1; the others stay dynamic",
      "B=N" },
    { "raw", 0, 0, G_OPTION_ARG_NONE, &job.raw,
      "Export only the net of a run, without normalisation, filling of gaps, names and probabilities", NULL },
    { "external-data", 0, 0, G_OPTION_ARG_NONE, &job.external_data, "Write the weights to a second file, FILE.data",
      NULL },
    { "module", 0, 0, G_OPTION_ARG_STRING, &job.module, "Draw the contents of this module", "NAME" },
    { "dark", 0, 0, G_OPTION_ARG_NONE, &job.dark, "Draw with the colours of the dark style", NULL },
    { "transparent", 0, 0, G_OPTION_ARG_NONE, &job.transparent, "Draw no background", NULL },
    { NULL },
  };
  int status = 2;

  if (command_parse (command, entries, &argc, &argv))
    {
      const ExportTarget *target = to != NULL ? find_target (to) : NULL;
      g_autofree char *list = list_targets ();
      const char *wrong = NULL;
      for (guint i = 0; sizes && sizes[i] != NULL; i++)
        wrong = wrong != NULL || read_size (sizes[i], &job.sizes) ? wrong : sizes[i];
      if (argc != 2)
        command_usage (command, "It takes one GRAPH or one RUN folder.");
      else if (to == NULL)
        command_usage (command, "--to is missing. The targets are %s.", list);
      else if (target == NULL)
        command_usage (command, "--to takes %s, not “%s”.", list, to);
      else if (find_stray (target, &job, sizes) != NULL)
        command_usage (command, "--%s cannot be combined with --to %s.", find_stray (target, &job, sizes), to);
      else if (wrong != NULL)
        command_usage (command, "--size takes a letter and a positive number, such as B=1, not “%s”.", wrong);
      else if (is_same_file (job.file, argv[1]) || is_same_file (job.file, job.weights))
        command_usage (command, "-o %s is the file that is read. Choose another name.", job.file);
      else if (!has_suffix (target, job.file))
        command_usage (command, "--to %s writes files whose name ends in .%s, but “%s” does not.", to, target->suffix,
                       job.file);
      else
        {
          job.path = argv[1];
          g_autofree char *unnamed = job.file == NULL ? export_default_file (&job, target->suffix) : NULL;
          if (unnamed != NULL && !force && g_file_test (unnamed, G_FILE_TEST_EXISTS))
            command_usage (command, "“%s” exists already. Name another file with -o, or use --force.", unnamed);
          else
            status = run_target (target, &job);
        }
    }
  g_free (job.file);
  g_free (job.weights);
  g_free (job.module);
  g_strfreev (job.outputs);
  g_strfreev (job.inputs);
  return status;
}

const Command command_export = {
  .name = "export",
  .arguments = "GRAPH|RUN --to onnx|pytorch|svg|pdf|png|dot [-o FILE]",
  .summary = "write a graph for other programs",
  .details
  = "--to onnx writes the part of the graph that prediction needs, in evaluation mode, with operator set 17. Inputs\n"
    "are the data set's ports and input nodes; outputs are --output, else the graph's output nodes, else the\n"
    "prediction that its loss reads. Sizes that are letters in the graph stay dynamic. Nodes that ONNX cannot\n"
    "express are listed, and nothing is written. The model of a run reads the same samples as predict, fills gaps,\n"
    "normalises them, and outputs probabilities in addition to logits; names of classes, columns and tokens are\n"
    "metadata. --raw leaves all this out.\n\n"
    "--to pytorch writes a Python file that makes the same model, loads the same weights, and trains it: modules are\n"
    "classes, and <train> is its loop. The samples of the data set go to FILE.samples.safetensors next to it. --to "
    "svg, pdf and png draw the graph as on Studio's canvas; --to dot\n"
    "writes it for graphviz.\n\n"
    "  gradloom export run1 --to onnx -o lenet.onnx\n"
    "  gradloom export graph.xml --to onnx --weights w.safetensors --output softmax --size B=1\n"
    "  gradloom export graph.xml --to svg --module block --dark",
  .run = run,
};
