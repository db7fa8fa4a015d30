/* `gradloom new`: creates a graph for a data set, or for the weights of another program. */
#include "app/commands.h"
#include "app/new-table.h"
#include "engine/loom-run.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  char *data, *net, *weights, *output;
  gboolean force, list;
} Options;

static int
print_list (void)
{
  printf ("Data sets for --data, with their options; options without a default are required:\n");
  for (const LoomDatasetClass *const *c = loom_dataset_classes (); *c != NULL; c++)
    {
      printf ("\n  %-14s %s\n", loom_dataset_class_name (*c), loom_dataset_class_doc (*c));
      for (const LoomDatasetParam *p = loom_dataset_class_params (*c); p != NULL && p->name != NULL; p++)
        printf ("      %s=%s\n", p->name, p->def == NULL ? "…" : p->def);
    }
  printf ("\nNetworks for --net, if they suit the data:\n\n");
  for (const LoomTemplateKind *const *k = loom_template_all_kinds (); *k != NULL; k++)
    printf ("  %-14s %s\n", (*k)->name, (*k)->doc);
  return 0;
}

static gboolean
is_path (const LoomDatasetClass *klass, const char *name)
{
  for (const LoomDatasetParam *p = loom_dataset_class_params (klass); p != NULL && p->name != NULL; p++)
    if (strcmp (p->name, name) == 0)
      return p->type == LOOM_DATASET_PATH;
  return FALSE;
}

/* Files that name their data set, by extension. */
static const struct
{
  const char *suffix, *source, *option;
} files[] = {
  { ".csv", "csv", "path" }, { ".tsv", "csv", "path" },        { ".parquet", "csv", "path" },
  { ".npz", "npz", "path" }, { ".tar", "webdataset", "path" },
};

/* The number of the kind of file that --data names instead of a source; −1: none. */
static int
file_kind (const char *data)
{
  g_autofree char *lower = g_ascii_strdown (data, -1);

  for (guint i = 0; loom_dataset_class (data) == NULL && i < G_N_ELEMENTS (files); i++)
    if (g_str_has_suffix (lower, files[i].suffix))
      return (int)i;
  return -1;
}

/* A path is typed relative to the working folder and stored in the graph. If the data are next to the graph file or
 * below it, the path is stored relative to that file, so that both can be moved together. */
static char *
path_for_file (const char *path, const char *folder)
{
  g_autofree char *absolute = g_canonicalize_filename (path, NULL);
  gsize n = strlen (folder);

  if (*path == '\0')
    return g_strdup ("");
  if (g_str_has_prefix (absolute, folder) && absolute[n] == '/')
    return g_strdup (absolute + n + 1);
  return g_steal_pointer (&absolute);
}

/* Splits NAME=VALUE arguments into name, value, …, NULL; NULL, with the argument in *wrong, if one has another form. */
static char **
read_options (const char *source, char **words, int n, const char *folder, const char **wrong)
{
  const LoomDatasetClass *klass = loom_dataset_class (source);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();

  for (int i = 0; i < n; i++)
    {
      const char *equals = strchr (words[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (words[i], equals - words[i]) : NULL;
      g_autofree char *value = NULL;

      if (equals == NULL || equals == words[i])
        {
          *wrong = words[i];
          return NULL;
        }
      value = klass != NULL && is_path (klass, name) ? path_for_file (equals + 1, folder) : g_strdup (equals + 1);
      g_strv_builder_add (builder, name);
      g_strv_builder_add (builder, value);
    }
  return g_strv_builder_end (builder);
}

/* Prints the graph's path, or writes the graph to the terminal; rest follows "wrote GRAPH". */
static int
put_graph (const Command *command, const LoomGraph *graph, const char *output, const char *rest)
{
  GError *error = NULL;

  if (strcmp (output, "-") == 0)
    {
      gsize length;
      g_autofree char *text = loom_graph_write (graph, &length);

      fwrite (text, 1, length, stdout);
      return 0;
    }
  if (!loom_graph_write_file (graph, output, &error))
    return command_fail (command, error);
  g_autofree char *shown = command_printable (output);
  printf ("wrote %s%s", shown, rest);
  return 0;
}

static int
write_skeleton (const Command *command, const Options *options, const char *output)
{
  g_autofree char *absolute = g_canonicalize_filename (output, NULL), *folder = g_path_get_dirname (absolute);
  g_autofree char *path = path_for_file (options->weights, folder), *name = g_path_get_basename (options->weights);
  g_autoptr (GString) rest = g_string_new (NULL);
  g_autoptr (LoomTensorFile) file = NULL;
  g_autoptr (LoomSkeleton) skeleton = NULL;
  GError *error = NULL;

  file = loom_tensor_file_open (options->weights, &error);
  skeleton = file != NULL ? loom_skeleton_new (file, path, name, &error) : NULL;
  if (skeleton == NULL)
    return command_fail (command, error);
  g_autoptr (LoomNet) net = loom_net_new (skeleton->graph, NULL, NULL);
  g_autoptr (LoomWeightsMatch) match = loom_weights_match_new (file, net);

  g_string_append_printf (rest, ": %u layers that take %u of %u tensors\n", skeleton->n_layers, match->n_fit,
                          loom_tensor_file_count (file));
  for (guint i = 0; i < skeleton->left_out->len; i++)
    {
      g_autofree char *shown = command_printable (skeleton->left_out->pdata[i]);

      g_string_append_printf (rest, "  left out: %s\n", shown);
    }
  if (skeleton->n_chains > 1)
    g_string_append_printf (rest, "  in %u chains, whose sizes do not match each other\n", skeleton->n_chains);
  return put_graph (command, skeleton->graph, output, rest->str);
}

/* A name that is no data set's but that of a file or folder: how its data can be read. FALSE with a usage error. */
static gboolean
check_source (const Command *command, const char *data)
{
  static const char *const packed[] = { ".gz", ".tgz", ".zip", ".bz2", ".xz", ".zst", ".7z", ".rar" };
  g_autofree char *lower = g_ascii_strdown (data, -1), *word = NULL;

  if (loom_dataset_class (data) != NULL || !loom_path_exists (data))
    return TRUE;
  word = loom_text_shell_word (data);
  if (loom_path_is_folder (data))
    command_usage (command,
                   "“%s” is a folder; --data image-folder path=%s reads one of pictures, a folder for each class.",
                   data, word);
  else
    {
      for (guint i = 0; i < G_N_ELEMENTS (packed); i++)
        if (g_str_has_suffix (lower, packed[i]))
          {
            command_usage (command, "“%s” is packed. Unpack it first, and name the folder or file in it.", data);
            return FALSE;
          }
      command_usage (command,
                     "“%s” is a file, of which --data reads .csv, .tsv, .parquet, .npz and .tar. For another one name "
                     "its data set, and the file among its options; --list shows both.",
                     data);
    }
  return FALSE;
}

/* The first path among name, value, … that is empty; NULL: none. */
static const char *
find_empty_path (const char *source, char **given)
{
  const LoomDatasetClass *klass = loom_dataset_class (source);

  for (char **at = given; klass != NULL && *at != NULL; at += 2)
    if (*at[1] == '\0' && is_path (klass, at[0]))
      return at[0];
  return NULL;
}

static int
write_graph (const Command *command, const Options *options, char **words, int n, const char *output)
{
  const int kind = file_kind (options->data);
  const char *source = kind >= 0 ? files[kind].source : options->data;
  const gboolean has_pictures = kind >= 0 && g_str_equal (source, "csv") && new_table_has_pictures (options->data);
  g_autofree char *absolute = g_canonicalize_filename (output, NULL), *folder = g_path_get_dirname (absolute);
  g_autoptr (GString) rest = g_string_new ("\n");
  g_autofree char *path = kind >= 0 ? g_strconcat (files[kind].option, "=", options->data, NULL) : NULL;
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_auto (GStrv) given = NULL, complete = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  LoomTemplateData data = { .folder = folder, .kind = options->net };
  GError *error = NULL;
  const char *wrong = NULL, *empty;

  data.source = source = has_pictures ? "image-table" : source;
  if (kind < 0 && !check_source (command, source))
    return 2;
  if (path != NULL)
    g_ptr_array_add (all, path);
  for (int i = 0; i < n; i++)
    g_ptr_array_add (all, words[i]);
  given = read_options (source, (char **)all->pdata, (int)all->len, folder, &wrong);
  if (given == NULL)
    return command_usage (command, "“%s” is not an option of a data set; write NAME=VALUE.", wrong);
  empty = find_empty_path (source, given);
  if (empty != NULL)
    return command_usage (command, "“%s=” names no file. Write %s=FILE, or leave it out.", empty, empty);
  complete = has_pictures                  ? new_table_complete_pictures (given, folder, rest, &error)
             : g_str_equal (source, "csv") ? new_table_complete (given, folder, &data, rest, &error)
                                           : g_strdupv (given);
  data.options = (const char *const *)complete;
  graph = complete != NULL ? loom_template_from_data (&data, &error) : NULL;
  if (graph == NULL)
    return command_fail (command, error);
  g_autofree char *word = loom_text_shell_word (output);
  g_string_append_printf (rest, "To train it:\n  gradloom train %s\n", word);
  return put_graph (command, graph, output, rest->str);
}

static int
run (const Command *command, int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "data", 0, 0, G_OPTION_ARG_STRING, &options.data, "The data set of the graph, or a file of a table or of arrays",
      "SOURCE" },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &options.weights,
      "Instead of data: a skeleton of the layers of these weights", "FILE.safetensors" },
    { "net", 0, 0, G_OPTION_ARG_STRING, &options.net, "The kind of network (default: by the data)", "KIND" },
    { "list", 0, 0, G_OPTION_ARG_NONE, &options.list, "List data sets and kinds of networks", NULL },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
      "The graph to write (default: SOURCE.xml or FILE.xml here); - is standard output", "GRAPH" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &options.force, "Overwrite an existing graph", NULL },
    { NULL },
  };
  g_autofree char *data = NULL, *net = NULL, *weights = NULL, *output = NULL;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  data = options.data;
  net = options.net;
  weights = options.weights;
  output = options.output;
  if (options.list)
    return print_list ();
  if (weights != NULL && (data != NULL || net != NULL || argc > 1))
    return command_usage (command, "--weights cannot be combined with --data: a skeleton has no data set.");
  if (data == NULL && weights == NULL)
    return command_usage (command, "--data SOURCE or --weights FILE is missing; --list shows the data sets.");
  if (net != NULL && loom_template_kind (net) == NULL)
    return command_usage (command, "There is no network “%s”; --list shows the networks.", net);
  if (output == NULL)
    output = weights != NULL         ? command_default_graph (weights)
             : file_kind (data) >= 0 ? command_default_graph (data)
                                     : g_strconcat (data, ".xml", NULL);
  if (!options.force && strcmp (output, "-") != 0 && loom_path_exists (output))
    return command_usage (command, "“%s” exists already. Name another file with -o, or use --force.", output);
  if (weights != NULL)
    return write_skeleton (command, &options, output);
  return write_graph (command, &options, argv + 1, argc - 1, output);
}

const Command command_new = {
  .name = "new",
  .arguments = "--data SOURCE [NAME=VALUE…] | --weights FILE.safetensors",
  .summary = "create a graph from a data set, or from weights",
  .details = "Writes a graph with the data set, a network that suits it, a loss, a metric and training settings.\n"
             "The arguments NAME=VALUE are options of the data set; file names are relative to the current\n"
             "folder. Options that are left out are derived from the table, as in Studio; columns that are left\n"
             "out are listed. With --weights it writes a skeleton: the layers that the names and shapes of a\n"
             "file (safetensors, .pth, .npz, GGUF, Keras) suggest, chained if their sizes match, with these weights.\n"
             "Tensors whose layer is not known are left out and listed.\n\n"
             "  gradloom new --data fashion-mnist --net conv -o clothes.xml\n"
             "  gradloom new --data iris.parquet target=species\n"
             "  gradloom new --weights resnet18.safetensors -o resnet18.xml",
  .run = run,
};
