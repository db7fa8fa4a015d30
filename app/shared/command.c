/* Shared by all commands: options, errors, formatting of numbers. */
#include "app/shared/command.h"

#include "app/shared/adapter-option.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The options with a minimum, in all commands. */
static const struct
{
  const char *option;
  gint64 least;
} limits[] = {
  { "epochs", 0 },    { "steps", 1 },       { "batch-size", 1 }, { "threads", 1 },
  { "windows", 1 },   { "seed", 0 },        { "seconds", 1 },    { "ranks", 1 },
  { "min-ranks", 1 }, { "jobs", 1 },        { "random", 1 },     { "checkpoint-seconds", 1 },
  { "timeout", 1 },   { "num-workers", 0 }, { "step", 0 },       { "history", 0 },
};

static int
find_limit (const GOptionEntry *entry)
{
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    if (strcmp (limits[i].option, entry->long_name) == 0)
      return (int)i;
  return -1;
}

/* Defaults are often 0 or -1 for "not given", so a given 0 or -1 would count as not given. During parsing each such
 * variable holds an improbable number, which shows afterwards whether the option was given. */
static void
mark_numbers (const GOptionEntry *entries, gint64 *whole, double *real)
{
  for (guint i = 0; entries[i].long_name != NULL; i++)
    {
      gpointer data = entries[i].arg_data;

      if (find_limit (entries + i) < 0)
        continue;
      if (entries[i].arg == G_OPTION_ARG_INT64)
        {
          whole[i] = *(gint64 *)data;
          *(gint64 *)data = G_MININT64;
        }
      else if (entries[i].arg == G_OPTION_ARG_INT)
        {
          whole[i] = *(int *)data;
          *(int *)data = G_MININT;
        }
      else if (entries[i].arg == G_OPTION_ARG_DOUBLE)
        {
          real[i] = *(double *)data;
          *(double *)data = NAN;
        }
    }
}

/* Restores defaults. Returns the name of an option below its minimum, or NULL. */
static const char *
check_numbers (const GOptionEntry *entries, const gint64 *whole, const double *real, gint64 *least)
{
  const char *wrong = NULL;

  for (guint i = 0; entries[i].long_name != NULL; i++)
    {
      gpointer data = entries[i].arg_data;
      int limit = find_limit (entries + i);
      gboolean bad = FALSE;

      if (limit < 0)
        continue;
      if (entries[i].arg == G_OPTION_ARG_INT64)
        {
          if (*(gint64 *)data == G_MININT64)
            *(gint64 *)data = whole[i];
          else
            bad = *(gint64 *)data < limits[limit].least;
        }
      else if (entries[i].arg == G_OPTION_ARG_INT)
        {
          if (*(int *)data == G_MININT)
            *(int *)data = (int)whole[i];
          else
            bad = *(int *)data < limits[limit].least;
        }
      else if (entries[i].arg == G_OPTION_ARG_DOUBLE)
        {
          if (isnan (*(double *)data))
            *(double *)data = real[i];
          else
            bad = !(*(double *)data > 0) || isinf (*(double *)data);
        }
      if (bad && wrong == NULL)
        {
          wrong = entries[i].long_name;
          *least = limits[limit].least;
        }
    }
  return wrong;
}

/* Returns FALSE with a message if the value of --device is no device on any machine; a device that is missing here is
 * reported when it is opened. */
static gboolean
check_device (const Command *command, const GOptionEntry *entries)
{
  for (guint i = 0; entries[i].long_name != NULL; i++)
    {
      const char *name = strcmp (entries[i].long_name, "device") == 0 ? *(char **)entries[i].arg_data : NULL;
      g_autoptr (LoomDevices) devices = name != NULL ? loom_devices_new (0) : NULL;
      /* An option that takes several devices is described as "D,…". */
      const gboolean several = name != NULL && strchr (entries[i].arg_description, ',') != NULL;
      g_auto (GStrv) names = name != NULL ? g_strsplit (name, several ? "," : "\n", -1) : NULL;

      for (guint k = 0; name != NULL && names[k] != NULL; k++)
        {
          g_autoptr (GError) error = NULL;

          if (loom_devices_check_name (devices, names[k], &error))
            continue;
          command_usage (command, "--device: %s", error->message);
          return FALSE;
        }
    }
  return TRUE;
}

const char command_statuses[]
    = "0 success; 1 wrong graph, data or weights; 2 wrong usage; 3 a device failed or ran out of\n"
      "memory; 4 NaN; 5 disk or I/O; 130 and 143 interrupted after a checkpoint.\n"
      "(diff: 0 equal, 1 different, 2 error.)\n";

/* The callback that receives the options for descriptions. Entries are on the stack of the command that parses them, so
 * they exist only during its call. */
static CommandOptionsFunc describe;
static gpointer describe_data;

void
command_describe (const Command *command, CommandOptionsFunc func, gpointer data)
{
  /* Without --help among the arguments the worker would begin to serve. */
  char *argv[] = { (char *)command->name, (char *)"--help", NULL };

  if (command->options != NULL)
    {
      func (command, command->options, data);
      return;
    }
  describe = func;
  describe_data = data;
  command->run (command, 2, argv);
  describe = NULL;
}

/* The context whose options are being parsed; an option's callback receives no pointer to it. */
static GOptionContext *reading;

/* GLib's own --help exits without checking whether its output was written. */
static gboolean
print_help (const char *name, const char *value, gpointer data, GError **error)
{
  g_autofree char *text = g_option_context_get_help (reading, TRUE, NULL);

  fputs (text, stdout);
  exit (command_finish (0));
}

/* The entry of an option "--name", "--name=VALUE" or "-n"; NULL: none. */
static const GOptionEntry *
find_entry (const GOptionEntry *entries, const char *word)
{
  const char *name = word + 2;
  const gsize length = strcspn (name, "=");

  for (guint i = 0; entries[i].long_name != NULL; i++)
    if (word[1] == '-' ? strlen (entries[i].long_name) == length && strncmp (entries[i].long_name, name, length) == 0
                       : entries[i].short_name != 0 && word[1] == entries[i].short_name && word[2] == '\0')
      return &entries[i];
  return NULL;
}

/* The switch that has a value, as in --check=no, which GLib would treat as --check; or NULL. */
static const GOptionEntry *
find_switch_with_value (const GOptionEntry *entries, int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    {
      const GOptionEntry *entry = argv[i][0] == '-' && argv[i][1] != '\0' ? find_entry (entries, argv[i]) : NULL;
      const gboolean has_value = strchr (argv[i], '=') != NULL;

      if (entry == NULL)
        continue;
      if (entry->arg != G_OPTION_ARG_NONE && !(entry->flags & G_OPTION_FLAG_NO_ARG))
        i += !has_value;
      else if (has_value)
        return entry;
    }
  return NULL;
}

gboolean
command_parse (const Command *command, const GOptionEntry *entries, int *argc, char ***argv)
{
  if (describe)
    {
      describe (command, entries, describe_data);
      return FALSE;
    }
  g_autofree char *usage = g_strdup_printf ("%s — %s", command->arguments, command->summary);
  g_autoptr (GOptionContext) context = g_option_context_new (usage);
  g_autofree char *name = g_strdup_printf ("gradloom %s", command->name);
  g_autoptr (GError) error = NULL;

  const GOptionEntry help[] = {
    { "help", 'h', G_OPTION_FLAG_NO_ARG, G_OPTION_ARG_CALLBACK, print_help, "Show this help", NULL },
    { NULL },
  };

  g_set_prgname (name);
  if (command->details != NULL)
    g_option_context_set_description (context, command->details);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_add_main_entries (context, help, NULL);
  reading = context;

  const GOptionEntry *given = find_switch_with_value (entries, *argc, *argv);
  if (given == NULL)
    given = find_switch_with_value (help, *argc, *argv);
  if (given != NULL)
    {
      command_usage (command, "--%s takes no value.", given->long_name);
      return FALSE;
    }

  guint n = 0;
  while (entries[n].long_name != NULL)
    n++;
  g_autofree gint64 *whole = g_new0 (gint64, n + 1);
  g_autofree double *real = g_new0 (double, n + 1);
  mark_numbers (entries, whole, real);
  if (g_option_context_parse (context, argc, argv, &error))
    {
      gint64 least = 0;
      const char *wrong = check_numbers (entries, whole, real, &least);

      if (wrong != NULL)
        {
          command_usage (command, least > 0 ? "--%s takes a positive number." : "--%s takes 0 or a positive number.",
                         wrong);
          return FALSE;
        }
      /* "--" ends the options and is no argument itself. */
      if (*argc > 1 && strcmp ((*argv)[1], "--") == 0)
        {
          memmove (*argv + 1, *argv + 2, (*argc - 1) * sizeof (char *));
          (*argc)--;
        }
      return check_device (command, entries);
    }
  command_usage (command, "%s.", error->message);
  return FALSE;
}

void
command_print_list (FILE *to, const Command *const *commands, guint n)
{
  for (guint i = 0; i < n; i++)
    if (commands[i]->summary != NULL)
      fprintf (to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
}

const Command *
command_find (const char *name, const Command *const *commands, guint n)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

int
command_usage (const Command *command, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args), *shown = command_sentence (text);
  va_end (args);
  fprintf (stderr, "gradloom %s: %s\nSee gradloom %s --help.\n", command->name, shown, command->name);
  return 2;
}

GArray *
command_numbers (const char *text, gint64 least, gint64 most)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_auto (GStrv) word = g_strsplit (text, ",", -1);

  for (guint i = 0; word[i] != NULL; i++)
    {
      gint64 n;

      if (!g_ascii_string_to_signed (g_strstrip (word[i]), 10, least, most, &n, NULL))
        return NULL;
      g_array_append_val (numbers, n);
    }
  return numbers->len > 0 ? g_steal_pointer (&numbers) : NULL;
}

gboolean
command_knows_strategy (const Command *command, const char *strategy)
{
  if (strategy == NULL || g_strv_contains (loom_strategies (), strategy))
    return TRUE;
  command_usage (command, "--strategy is %s, not “%s”.", loom_strategies_text (), strategy);
  return FALSE;
}

const char *
command_strategy_help (void)
{
  g_autofree char *text
      = g_strdup_printf ("Strategy of <parallel>: %s (default: the graph's)", loom_strategies_text ());

  return g_intern_string (text);
}

char *
command_printable (const char *text)
{
  return loom_text_printable (text, TRUE, 200);
}

char *
command_sentence (const char *text)
{
  return loom_text_printable (text, FALSE, G_MAXLONG);
}

int
command_fail (const Command *command, GError *error)
{
  int status = loom_error_exit_status (error);
  g_autofree char *message = command_sentence (error->message);

  fprintf (stderr, "gradloom %s: %s\n", command->name, message);
  g_error_free (error);
  return status;
}

void
command_warn (const Command *command, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args), *shown = command_sentence (text);
  va_end (args);
  fprintf (stderr, "gradloom %s: warning: %s\n", command->name, shown);
}

void
command_warn_of_costs (const Command *command, LoomDevices *devices)
{
  g_autofree char *text = loom_cost_table_take_note (loom_devices_costs (devices));

  if (text != NULL)
    command_warn (command, "%s", text);
}

void
command_take_costs (const Command *command, const char *path, LoomDevices *devices)
{
  g_autofree char *why = NULL;
  g_autoptr (LoomCostTable) costs = NULL;
  g_autoptr (GError) error = NULL;

  if (loom_path_is_folder (path) && !loom_run_costs (path, 0, &costs, &why, &error))
    command_warn (command, "%s The run's last bits may differ.", error->message);
  if (costs)
    loom_devices_set_costs (devices, costs);
  if (why != NULL)
    command_warn (command, "%s", why);
}

gboolean
command_runs_alone (const Command *command, int *status)
{
  LoomLauncher launcher;

  if (!loom_launcher_find (&launcher) || (launcher.size <= 1 && launcher.rank == 0))
    return TRUE;
  *status
      = command_usage (command, "%s has started several processes, but this command runs in one. Start it without %s.",
                       launcher.name, launcher.name);
  return FALSE;
}

void
command_warn_of_threads (const Command *command, int threads)
{
  g_autofree char *text = loom_threads_warning (threads);

  if (text != NULL)
    command_warn (command, "--threads: %s", text);
}

/* The first error of writing to standard output; 0: none. */
static int output_errno;

gboolean
command_can_write (const char *path)
{
  g_autofree char *folder = path != NULL ? g_path_get_dirname (path) : NULL;

  return path == NULL || (g_access (folder, W_OK | X_OK) == 0 && !loom_path_is_folder (path));
}

char *
command_default_graph (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  char *dot = strrchr (name, '.');

  if (dot != NULL && dot != name)
    *dot = 0;
  return g_strconcat (name, ".xml", NULL);
}

gboolean
command_flush (void)
{
  if (fflush (stdout) != 0 && output_errno == 0)
    output_errno = errno;
  return !ferror (stdout);
}

int
command_finish (int status)
{
  gboolean lost = !command_flush ();

  if (fclose (stdout) != 0)
    {
      lost = TRUE;
      if (output_errno == 0)
        output_errno = errno;
    }
  /* It is no error if the reader of a pipe has closed it, or if standard output was closed from the start and nothing
   * was written. */
  if (!lost || output_errno == EPIPE)
    return status;
  fprintf (stderr, "gradloom: Standard output could not be written%s%s.\n", output_errno ? ": " : "",
           output_errno ? g_strerror (output_errno) : "");
  return status == 0 || status >= 128 ? 5 : status;
}

/* The data of a graph from standard input are relative to the working folder. Its text is kept, because a command may
 * need the graph again for each rank. */
static LoomGraph *
read_standard_input (LoomFaults *faults, GError **error)
{
  static GByteArray *text;
  guint8 part[1 << 14];
  LoomGraph *graph;
  gsize n;

  if (text == NULL)
    text = g_byte_array_new ();
  while ((n = fread (part, 1, sizeof part, stdin)) > 0)
    g_byte_array_append (text, part, (guint)n);
  graph = loom_graph_read_data ((const char *)text->data, text->len, "standard input", faults, error);
  if (graph != NULL)
    loom_graph_set_folder (graph, ".");
  return graph;
}

LoomGraph *
command_load_graph (const char *path, LoomFaults *faults, GError **error)
{
  g_autoptr (GError) local = NULL;
  LoomGraph *graph
      = g_str_equal (path, "-") ? read_standard_input (faults, &local) : loom_run_read_graph (path, faults, &local);

  if (graph == NULL)
    g_set_error (error, LOOM_ERROR,
                 g_error_matches (local, LOOM_ERROR, LOOM_ERROR_PARSE)           ? LOOM_ERROR_PARSE
                 : g_error_matches (local, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY) ? LOOM_ERROR_OUT_OF_MEMORY
                                                                                 : LOOM_ERROR_DATA,
                 "%s", local->message);
  return graph;
}

LoomGraph *
command_read_graph (const char *path, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = command_load_graph (path, faults, error);

  if (graph == NULL || !loom_faults_to_error (faults, path, error))
    return NULL;
  return g_steal_pointer (&graph);
}

/* TRUE if the graph of the file can be trained without changes. */
static gboolean
is_sound (const char *path)
{
  g_autoptr (LoomGraph) graph = command_read_graph (path, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = graph != NULL ? loom_net_new (graph, NULL, faults) : NULL;

  if (net == NULL)
    return FALSE;
  loom_train_spec_free (loom_train_spec_new (graph, net, faults));
  return loom_faults_to_error (faults, NULL, NULL);
}

gboolean
command_option_faults (const LoomFaults *faults, const char *path, const char *options, GError **error)
{
  g_autoptr (GError) wrong = NULL;

  if (loom_faults_to_error (faults, path, &wrong))
    return TRUE;
  if (*options == '\0' || !is_sound (path))
    g_propagate_error (error, g_steal_pointer (&wrong));
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "With%s: %s", options, wrong->message);
  return FALSE;
}

char *
command_train_options (const char *precision, gboolean tf32, const char *device)
{
  return g_strconcat (precision != NULL ? " --precision " : "", precision != NULL ? precision : "",
                      tf32 ? " --tf32" : "", device != NULL ? " --device " : "", device != NULL ? device : "", NULL);
}

gboolean
command_is_folder (const char *path, gboolean *is_folder, GError **error)
{
  GStatBuf is;
  const gboolean known = g_stat (path, &is) == 0;

  *is_folder = known && S_ISDIR (is.st_mode);
  if (known || errno == ENOENT || errno == ENOTDIR)
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, g_strerror (errno));
  return FALSE;
}

gboolean
command_run_weights (const char *path, char **weights, GError **error)
{
  gboolean is_run;

  /* A path of which nothing can be found out may be a run, whose weights must not be left out silently. */
  if (!command_is_folder (path, &is_run, error))
    return FALSE;
  if (*weights != NULL || !is_run)
    return TRUE;
  *weights = loom_run_newest_weights (path, error);
  return *weights != NULL;
}

int
command_open_predictor (const Command *command, const char *path, char **weights, const char *adapter,
                        LoomPredictorOptions *options, LoomPredictor **predictor)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) values = NULL;
  g_autoptr (LoomGraph) graph = command_read_graph (path, &error);

  if (graph == NULL || !command_run_weights (path, weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (*weights == NULL)
    return command_usage (
        command, "“%s” is a graph without trained weights. Name its run's folder, or --weights F.safetensors.", path);
  if (!command_merge_adapter (graph, adapter, *weights, FALSE, &values, &error))
    return command_fail (command, g_steal_pointer (&error));
  options->weights = *weights;
  options->values = values;
  options->run = loom_path_is_folder (path) ? path : NULL;
  *predictor = loom_predictor_new (graph, options, &error);
  return *predictor != NULL ? 0 : command_fail (command, g_steal_pointer (&error));
}

LoomJson *
command_event_new (const char *event)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "event", event);
  return json;
}

void
command_event_print (LoomJson *json)
{
  loom_json_end_object (json);
  puts (loom_json_text (json));
  loom_json_free (json);
}

char *
command_count (double n)
{
  g_autofree char *digits = g_strdup_printf ("%.0f", n);
  GString *s = g_string_new (NULL);
  gsize length = strlen (digits);

  for (gsize i = 0; i < length; i++)
    {
      if (i > 0 && (length - i) % 3 == 0)
        g_string_append_c (s, ',');
      g_string_append_c (s, digits[i]);
    }
  return g_string_free (s, FALSE);
}

char *
command_duration (double seconds)
{
  gint64 s = (gint64)(seconds + 0.5);

  if (s >= 3600)
    return g_strdup_printf ("%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
  return g_strdup_printf ("%d:%02d", (int)(s / 60), (int)(s % 60));
}

gboolean
command_float (const char *text, double *value)
{
  char *end;

  *value = g_ascii_strtod (text, &end);
  return end != text && *end == 0 && isfinite (*value);
}
