/* `gradloom generate`: samples text token by token from a trained language model. */
#include "app/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  const Command *command;
  LoomPredictor *predictor;
  LoomGenerator *generator;
  GRand *random;
  GArray *ids;   /* gint64: the tokens of the prompt, then the generated ones */
  GString *text; /* the generated text */
  gint64 second; /* the time of the second token, in µs, after which nothing more is planned */
  double temperature;
  int top_k, most;
  const char *stop;
  gboolean json;
} Generate;

static void
generate_clear (Generate *g)
{
  loom_generator_free (g->generator);
  loom_predictor_free (g->predictor);
  g_clear_pointer (&g->random, g_rand_free);
  g_clear_pointer (&g->ids, g_array_unref);
  if (g->text != NULL)
    g_string_free (g->text, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Generate, generate_clear)

/* ---- tokens -------------------------------------------------------------- */

/* A token as text: bytes that are not letters are written as names ("\x0c"). */
static void
add_token (GString *text, const char *name)
{
  for (; *name != '\0'; name++)
    if (name[0] == '\\' && name[1] == 'x' && g_ascii_isxdigit (name[2]) && g_ascii_isxdigit (name[3]))
      {
        g_string_append_c (text, (char)(16 * g_ascii_xdigit_value (name[2]) + g_ascii_xdigit_value (name[3])));
        name += 3;
      }
    else
      g_string_append_c (text, *name);
}

/* Reads the prompt as the net's data set reads texts. */
static gboolean
read_prompt (Generate *g, const LoomDataset *dataset, const char *prompt, GError **error)
{
  const LoomSampleOptions how = { .low = NAN, .high = NAN };
  g_autoptr (LoomSampleReader) reader = loom_sample_reader_new (loom_predictor_input (g->predictor), dataset, &how);
  /* A newline at the end is regarded as that of the file. */
  g_autofree char *line = g_strconcat (prompt, "\n", NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (line, strlen (line));
  g_autoptr (GPtrArray) items = loom_sample_reader_read (reader, bytes, "--prompt", error);
  const LoomTensor *tokens;

  if (items == NULL)
    return FALSE;
  tokens = ((const LoomSampleItem *)items->pdata[0])->tensor;
  for (gint64 i = 0; i < tokens->count; i++)
    {
      gint64 id = (gint64)loom_tensor_get (tokens, i);

      g_array_append_val (g->ids, id);
    }
  return TRUE;
}

static int
compare_shares (gconstpointer a, gconstpointer b, gpointer data)
{
  const double *share = data;
  gint64 i = *(const gint64 *)a, k = *(const gint64 *)b;

  return share[i] > share[k] ? -1 : share[i] < share[k] ? 1 : i < k ? -1 : i > k;
}

/* Draws a token from n probabilities, sharpened by the temperature; at temperature 0 the likeliest one. -1: a
 * probability is not a number. */
static gint64
draw (Generate *g, const double *share, gint64 n)
{
  g_autofree gint64 *order = g_new (gint64, MAX (n, 1));
  g_autofree double *weight = g_new (double, MAX (n, 1));
  gint64 kept = g->top_k > 0 ? MIN (g->top_k, n) : n;
  double sum = 0, at;

  for (gint64 i = 0; i < n; i++)
    {
      if (!isfinite (share[i]))
        return -1;
      order[i] = i;
    }
  g_qsort_with_data (order, (int)n, sizeof *order, compare_shares, (gpointer)share);
  if (g->temperature == 0)
    return order[0];
  for (gint64 i = 0; i < kept; i++)
    {
      /* (p / p₀)^(1/t): relative to the largest, so that not all underflow to 0. */
      weight[i] = share[order[0]] > 0 ? pow (share[order[i]] / share[order[0]], 1 / g->temperature) : 1;
      sum += weight[i];
    }
  at = g_rand_double (g->random) * sum;
  for (gint64 i = 0; i < kept; i++)
    if ((at -= weight[i]) < 0)
      return order[i];
  return order[0];
}

/* Returns the token after those that the net has read and those of `ids` from `*read` on; -1 with an error. */
static gint64
next_token (Generate *g, guint *read, GError **error)
{
  const LoomAnswer *answer
      = loom_generator_read (g->generator, &g_array_index (g->ids, gint64, *read), g->ids->len - *read, error);
  gint64 token;

  *read = g->ids->len;
  if (answer == NULL)
    return -1;
  if (answer->kind != LOOM_ANSWER_PROBABILITIES || answer->n_positions != 1)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "The net predicts no probabilities of the next token. Train it with cross_entropy on data with "
                   "source=\"text\".");
      return -1;
    }
  token = draw (g, answer->value, answer->n_classes);
  if (token < 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_NAN, "The net's output is not finite after %u tokens.", g->ids->len);
  return token;
}

/* ---- writing -------------------------------------------------------------- */

/* The new part of the text that consists of complete characters; with `all`, the rest. */
static gboolean
show (const Generate *g, gsize *shown, gboolean all)
{
  const char *end = g->text->str + g->text->len, *valid;
  g_autofree char *part = NULL, *printable = NULL;

  if (g->json)
    return TRUE;
  g_utf8_validate (g->text->str + *shown, (gssize)(g->text->len - *shown), &valid);
  if (valid == g->text->str + *shown && !all)
    return TRUE;
  part = all && valid < end ? g_utf8_make_valid (g->text->str + *shown, (gssize)(g->text->len - *shown))
                            : g_strndup (g->text->str + *shown, (gsize)(valid - g->text->str) - *shown);
  printable = command_sentence (part);
  fputs (printable, stdout);
  *shown = (gsize)((all ? end : valid) - g->text->str);
  return command_flush ();
}

/* Generates until the number of tokens is reached or the text ends with --stop. */
static gboolean
write_text (Generate *g, const char *separator, guint *n_tokens, GError **error)
{
  gsize shown = 0;
  guint read = 0;

  for (*n_tokens = 0; *n_tokens < (guint)g->most; ++*n_tokens)
    {
      gint64 token = next_token (g, &read, error);
      const char *const *names;
      const char *at;

      if (token < 0)
        return FALSE;
      if (*n_tokens == 1)
        g->second = g_get_monotonic_time ();
      names = loom_dataset_class_names (loom_predictor_dataset (g->predictor, NULL));
      g_array_append_val (g->ids, token);
      g_string_append (g->text, separator);
      add_token (g->text, names[token]);
      at = g->stop != NULL ? g_strstr_len (g->text->str, (gssize)g->text->len, g->stop) : NULL;
      if (at != NULL)
        {
          g_string_truncate (g->text, (gsize)(at - g->text->str));
          ++*n_tokens;
          break;
        }
      /* Text that may be the beginning of --stop is not printed yet. */
      if (g->stop == NULL && !show (g, &shown, FALSE))
        return TRUE;
    }
  shown = MIN (shown, g->text->len);
  show (g, &shown, TRUE);
  return TRUE;
}

static void
print_event (const Generate *g, const char *prompt, guint n_tokens, gint64 start, gint64 end)
{
  double seconds = (double)(end - start) / G_USEC_PER_SEC;
  LoomJson *json = command_event_new ("generation");
  g_autofree char *text = g_utf8_make_valid (g->text->str, (gssize)g->text->len);

  loom_json_string (json, "prompt", prompt);
  loom_json_string (json, "text", text);
  loom_json_int (json, "tokens", n_tokens);
  loom_json_number (json, "seconds", seconds);
  if (n_tokens > 2)
    loom_json_number (json, "tokens_per_second", (n_tokens - 2) * (double)G_USEC_PER_SEC / (double)(end - g->second));
  command_event_print (json);
}

/* ---- arguments ------------------------------------------------------------ */

static int
run_generate (const Command *command, int argc, char **argv)
{
  g_autofree char *weights = NULL, *device = NULL, *prompt = NULL, *stop = NULL, *temperature = NULL;
  g_auto (Generate) g = { .command = command, .most = 200, .temperature = 1 };
  gint64 seed = 0, start;
  int threads = 0;
  guint n_tokens;
  gboolean no_cache = FALSE;
  const GOptionEntry entries[] = {
    { "prompt", 0, 0, G_OPTION_ARG_STRING, &prompt, "The text to continue (default: a newline)", "TEXT" },
    { "tokens", 0, 0, G_OPTION_ARG_INT, &g.most, "The largest number of tokens to write (200)", "N" },
    { "temperature", 0, 0, G_OPTION_ARG_STRING, &temperature,
      "Temperature of sampling: logits are divided by it; 0: always the likeliest token (1)", "X" },
    { "top-k", 0, 0, G_OPTION_ARG_INT, &g.top_k, "Sample only from the K likeliest tokens (default: all)", "K" },
    { "stop", 0, 0, G_OPTION_ARG_STRING, &stop, "Stop before this text", "TEXT" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of sampling (0)", "N" },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "F.safetensors" },
    { "no-cache", 0, 0, G_OPTION_ARG_NONE, &no_cache, "Recompute all positions for each token, for comparison", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: cpu)", "D" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &g.json, "Print one JSON object at the end", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one RUN folder (or a GRAPH with --weights).");
  if (g.most < 1)
    return command_usage (command, "--tokens takes a positive number.");
  if (g.top_k < 0)
    return command_usage (command, "--top-k takes a positive number.");
  if (prompt != NULL && *prompt == '\0')
    return command_usage (command, "--prompt takes a text that is not empty.");
  if (temperature != NULL && (!command_float (temperature, &g.temperature) || g.temperature < 0))
    return command_usage (command, "--temperature takes 0 or a positive number, not “%s”.", temperature);
  if (stop != NULL && *stop == '\0')
    return command_usage (command, "--stop takes a text that is not empty.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = command_read_graph (argv[1], &error);
  if (graph == NULL || !command_run_weights (argv[1], &weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (weights == NULL)
    return command_usage (command,
                          "“%s” is a graph without trained weights. Name its run's folder, or --weights F.safetensors.",
                          argv[1]);
  LoomPredictorOptions options = { .weights = weights,
                                   .device = device,
                                   .threads = threads,
                                   .run = g_file_test (argv[1], G_FILE_TEST_IS_DIR) ? argv[1] : NULL };
  g.predictor = loom_predictor_new (graph, &options, &error);
  if (g.predictor == NULL)
    return command_fail (command, g_steal_pointer (&error));
  const char *why;
  const LoomDataset *dataset = loom_predictor_dataset (g.predictor, &why);
  if (dataset == NULL || !loom_predictor_reads_text (g.predictor))
    {
      g_set_error (&error, LOOM_ERROR, LOOM_ERROR_DATA, "%s%s",
                   why != NULL ? why : "The net does not read text: its data set is not one with source=\"text\"",
                   why != NULL ? "" : ", so it cannot continue a text.");
      return command_fail (command, g_steal_pointer (&error));
    }
  g.generator = loom_generator_new (g.predictor, !no_cache, &error);
  if (g.generator == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (!no_cache && loom_generator_why (g.generator) != NULL)
    command_warn (command, "%s", loom_generator_why (g.generator));
  g.random = g_rand_new_with_seed ((guint32)seed);
  g.ids = g_array_new (FALSE, FALSE, sizeof (gint64));
  g.text = g_string_new (NULL);
  g.stop = stop;
  if (!read_prompt (&g, dataset, prompt != NULL ? prompt : "\n", &error))
    return command_fail (command, g_steal_pointer (&error));
  if (!g.json && prompt != NULL)
    {
      g_autofree char *shown = command_sentence (prompt);

      fputs (shown, stdout);
    }
  start = g_get_monotonic_time ();
  gboolean ok = write_text (&g, loom_dataset_separator (dataset) != NULL ? loom_dataset_separator (dataset) : "",
                            &n_tokens, &error);
  gint64 end = g_get_monotonic_time ();
  if (!g.json)
    putchar ('\n');
  g_autofree char *note = loom_predictor_take_note (g.predictor);
  if (note != NULL)
    command_warn (command, "%s", note);
  if (!ok)
    return command_fail (command, g_steal_pointer (&error));
  if (g.json)
    print_event (&g, prompt != NULL ? prompt : "\n", n_tokens, start, end);
  return 0;
}

const Command command_generate = {
  .name = "generate",
  .arguments = "RUN",
  .summary = "continue a text, token by token",
  .details
  = "The net must be trained on a data set with source=\"text\" to predict the next token. It reads the prompt,\n"
    "samples a token from the predicted distribution, and appends it to its input. Keys, values and states of\n"
    "earlier positions are cached, so each token costs one position. When the context of a net with attention is\n"
    "full, it continues with the last half of the context; recurrent layers have no such limit. The same seed\n"
    "writes the same text.\n\n"
    "  gradloom generate run1 --prompt \"The licensee \" --temperature 0.7\n"
    "  gradloom generate run1 --prompt \"Section 5\" --top-k 10 --stop \".\"",
  .run = run_generate,
};
