/* `gradloom export`: writes a graph in the formats of other programs. A new target is a file with an ExportTarget and a
 * line here. */
#include "app/commands.h"
#include "app/export-target.h"
#include "app/shared/adapter-option.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

static const ExportTarget *const targets[]
    = { &export_onnx, &export_safetensors, &export_pytorch, &export_report, &export_svg,
        &export_pdf,  &export_png,         &export_dot,     &export_handout };

static const ExportTarget *
find_target (const LoomExportFormat *format)
{
  for (guint i = 0; format != NULL && i < G_N_ELEMENTS (targets); i++)
    if (strcmp (targets[i]->format, format->name) == 0)
      return targets[i];
  return NULL;
}

/* Joins words as "onnx, dot or svg". */
static char *
join (const char *prefix, const char *const *words)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; words[i] != NULL; i++)
    g_string_append_printf (s, "%s%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", prefix, words[i]);
  return g_string_free (s, FALSE);
}

static char *
list_formats (void)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const LoomExportFormat *format;

  for (guint i = 0; (format = loom_export_format (i)) != NULL; i++)
    g_ptr_array_add (names, (gpointer)format->name);
  g_ptr_array_add (names, NULL);
  return join ("", (const char *const *)names->pdata);
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

char *
export_file (const ExportJob *job)
{
  return job->file != NULL ? g_strdup (job->file) : export_default_file (job, job->format->suffix[0]);
}

void
export_progress (const ExportJob *job, double done)
{
  LoomJson *json;

  if (!job->json)
    return;
  json = command_event_new ("progress");
  loom_json_number (json, "done", done);
  command_event_print (json);
}

void
export_wrote (const ExportJob *job, const char *file)
{
  g_autofree char *shown = command_printable (file);
  LoomJson *json;

  if (!job->json)
    {
      printf ("wrote %s\n", shown);
      return;
    }
  json = command_event_new ("wrote");
  loom_json_string (json, "file", file);
  command_event_print (json);
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
  const char *set;
  g_autofree char *read = b != NULL ? loom_file_of_set (b, &set) : NULL;
  struct stat x, y;

  return a != NULL && b != NULL && loom_os->stat (AT_FDCWD, a, &x, 0) == 0 && loom_os->stat (AT_FDCWD, read, &y, 0) == 0
         && x.st_dev == y.st_dev && x.st_ino == y.st_ino && S_ISREG (x.st_mode);
}

/* Refuses to overwrite an existing file with another suffix, which is probably a typing error. */
static gboolean
has_suffix (const LoomExportFormat *format, const char *file)
{
  return file == NULL || loom_export_format_fits (format, file) || (format->streams && strcmp (file, "-") == 0);
}

/* The weights of a graph, to which its <train> or the user refers; NULL: none. (transfer full) */
static char *
weights_of_graph (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *weights = train != NULL ? loom_element_get (train, "weights") : NULL;

  return weights != NULL && *weights != '\0' ? g_canonicalize_filename (weights, loom_graph_get_folder (graph)) : NULL;
}

static int
run_target (const ExportTarget *target, ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autoptr (GPtrArray) values = NULL;

  /* Another program reads it, perhaps from standard input. */
  if (target->reads)
    return target->run (job);
  graph = command_read_graph (job->path, &error);
  job->graph = graph;
  if (graph == NULL
      || ((job->format->options & LOOM_EXPORT_WEIGHTS) != 0 && !command_run_weights (job->path, &job->weights, &error)))
    return command_fail (job->command, g_steal_pointer (&error));
  /* A model with its initial weights can be of use elsewhere; a file of only these cannot. */
  if (job->weights == NULL && target == &export_safetensors)
    job->weights = weights_of_graph (graph);
  if ((job->format->options & LOOM_EXPORT_ADAPTER) != 0
      && !command_merge_adapter (graph, job->adapter, job->weights, TRUE, &values, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  job->values = values;
  export_progress (job, 0);
  return target->run (job);
}

/* The first option that this format does not support, or NULL. */
static const char *
find_stray (const ExportJob *job, char **sizes)
{
  /* In the order of LoomExportOptions. */
  const gboolean given[LOOM_EXPORT_N_OPTIONS]
      = { job->module != NULL,  job->dark,    job->transparent,   job->scale != 0,      job->select != NULL,
          job->weights != NULL, job->partial, job->seed >= 0,     job->inputs != NULL,  job->outputs != NULL,
          sizes != NULL,        job->raw,     job->external_data, job->adapter != NULL, job->pixels != 0,
          job->answers,         job->slides };

  for (guint i = 0; i < LOOM_EXPORT_N_OPTIONS; i++)
    if (given[i] && (job->format->options & (1u << i)) == 0)
      return loom_export_option_name (i);
  return NULL;
}

#define MOST_SCALE 100

/* Checks everything that needs no file; FALSE after printing an error. */
static gboolean
check_words (const Command *command, const ExportJob *job, const char *path, const char *to, char **sizes)
{
  const LoomExportFormat *format = job->format;
  const char *stray = find_stray (job, sizes);

  if (stray != NULL)
    command_usage (command, "--%s cannot be combined with --to %s.", stray, to);
  else if (job->scale < 0 || job->scale > MOST_SCALE)
    command_usage (command, "--scale takes a number above 0, up to %d.", MOST_SCALE);
  else if (job->pixels < 0)
    command_usage (command, "--pixels takes a number above 0.");
  else if (job->pixels > 0 && job->scale > 0)
    command_usage (command, "--pixels and --scale exclude each other.");
  else if (format->source == LOOM_EXPORT_OF_RUN && !loom_path_is_folder (path))
    command_usage (command, "--to %s takes the folder of a run, which “gradloom train … --out FOLDER” makes, not “%s”.",
                   to, path);
  else if (is_same_file (job->file, path) || is_same_file (job->file, job->weights))
    command_usage (command, "-o %s is the file that is read. Choose another name.", job->file);
  else if (!has_suffix (format, job->file))
    {
      g_autofree char *suffixes = join (".", format->suffix);

      command_usage (command, "--to %s writes files whose name ends in %s, but “%s” does not.", to, suffixes,
                     job->file);
    }
  else if (job->json && g_strcmp0 (job->file, "-") == 0)
    command_usage (command, "--json and -o - cannot be combined, because both print to standard output.");
  else
    return TRUE;
  return FALSE;
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
      "FILE[#NAME]" },
    COMMAND_ADAPTER_OPTION (job.adapter),
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
    { "select", 0, 0, G_OPTION_ARG_STRING_ARRAY, &job.select, "Draw only these nodes and their wires; may be repeated",
      "NODE" },
    { "scale", 0, 0, G_OPTION_ARG_DOUBLE, &job.scale,
      "Draw larger or smaller (1; PNG: 2, if it has at most 100 million pixels)", "X" },
    { "pixels", 0, 0, G_OPTION_ARG_INT, &job.pixels, "Draw a PNG whose longer side has N pixels", "N" },
    { "dark", 0, 0, G_OPTION_ARG_NONE, &job.dark, "Draw with the colours of the dark style", NULL },
    { "transparent", 0, 0, G_OPTION_ARG_NONE, &job.transparent, "Draw no background", NULL },
    { "answers", 0, 0, G_OPTION_ARG_NONE, &job.answers, "Write the teacher's copy of a handout, with answers and hints",
      NULL },
    { "slides", 0, 0, G_OPTION_ARG_NONE, &job.slides, "Write a handout of the presentation also if there is a lesson",
      NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &job.json, "Print progress and files as JSON objects", NULL },
    { NULL },
  };
  int status = 2;

  if (command_parse (command, entries, &argc, &argv))
    {
      job.format = to != NULL ? loom_export_format_find (to) : NULL;
      const ExportTarget *target = find_target (job.format);
      g_autofree char *list = list_formats ();
      const char *wrong = NULL;
      for (guint i = 0; sizes && sizes[i] != NULL; i++)
        wrong = wrong != NULL || read_size (sizes[i], &job.sizes) ? wrong : sizes[i];
      if (argc != 2)
        command_usage (command, "It takes one GRAPH or one RUN folder.");
      else if (to == NULL)
        command_usage (command, "--to is missing. The targets are %s.", list);
      else if (target == NULL)
        command_usage (command, "--to takes %s, not “%s”.", list, to);
      else if (wrong != NULL)
        command_usage (command, "--size takes a letter and a positive number, such as B=1, not “%s”.", wrong);
      else if (check_words (command, &job, argv[1], to, sizes))
        {
          job.path = argv[1];
          g_autofree char *file = export_file (&job);
          if (job.file == NULL && !force && loom_path_exists (file))
            command_usage (command, "“%s” exists already. Name another file with -o, or use --force.", file);
          else
            status = run_target (target, &job);
        }
    }
  g_free (job.file);
  g_free (job.weights);
  g_free (job.adapter);
  g_free (job.module);
  g_strfreev (job.outputs);
  g_strfreev (job.select);
  g_strfreev (job.inputs);
  return status;
}

const Command command_export = {
  .name = "export",
  .arguments = "GRAPH|RUN --to onnx|safetensors|pytorch|report|svg|pdf|png|dot|handout [-o FILE]",
  .summary = "write a graph for other programs",
  .details
  = "--to onnx writes the part of the graph that prediction needs, in evaluation mode, with operator set 17. Inputs\n"
    "are the data set's ports and input nodes; outputs are --output, else the graph's output nodes, else the\n"
    "prediction that its loss reads. Sizes that are letters in the graph stay dynamic. Nodes that ONNX cannot\n"
    "express are listed, and nothing is written. The model of a run reads the same samples as predict, fills gaps,\n"
    "normalises them, and outputs probabilities in addition to logits; names of classes, columns and tokens are\n"
    "metadata. --raw leaves all this out.\n\n"
    "--to pytorch writes a Python file that makes the same model, loads the same weights, and trains it: modules are\n"
    "classes, and <train> is its loop. The samples of the data set go to FILE.samples.safetensors next to it.\n\n"
    "--to safetensors writes the weights of a run, or those that <train weights=\"…\"> of a graph names, such as an\n"
    "imported one's; a tied weight is written under each of its names. --to report writes one file about it, HTML or "
    "PDF by the suffix of\n"
    "-o: graph, settings, data, curves, predictions, attention, and the command that repeats it. --to svg, pdf and\n"
    "png draw the graph as on Studio's canvas; --to dot writes it for graphviz.\n\n"
    "--to handout writes the pages of a graph's lessons, or the views of its presentation, as PDF or HTML: texts, the\n"
    "cards in the spotlight, their formulas, tasks, and space for answers.\n\n"
    "  gradloom export run1 --to onnx -o lenet.onnx\n"
    "  gradloom export graph.xml --to onnx --weights w.safetensors --output softmax --size B=1\n"
    "  gradloom export run1 --to report -o run1.html\n"
    "  gradloom export graph.xml --to svg --module block --dark\n"
    "  gradloom export lesson.xml --to handout --answers -o teacher.pdf",
  .run = run,
};
