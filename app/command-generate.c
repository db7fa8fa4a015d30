/* `gradloom generate`: samples text token by token from a trained language model. */
#include "app/commands.h"
#include "app/shared/adapter-option.h"

#include <stdio.h>

typedef struct
{
  LoomPredictor *predictor;
  LoomContinuation *continuation;
  gint64 second; /* the time of the second token, in µs, after which nothing more is planned */
  int most;
  const char *stop;
  gboolean json;
} Generate;

static void
generate_clear (Generate *g)
{
  loom_continuation_free (g->continuation);
  loom_predictor_free (g->predictor);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Generate, generate_clear)

/* ---- writing -------------------------------------------------------------- */

/* The new part of the text that consists of complete characters; with `all`, the rest. */
static gboolean
show (const Generate *g, gsize *shown, gboolean all)
{
  const GString *text = loom_continuation_text (g->continuation);
  const char *end = text->str + text->len, *valid;
  g_autofree char *part = NULL, *printable = NULL;

  if (g->json)
    return TRUE;
  g_utf8_validate (text->str + *shown, (gssize)(text->len - *shown), &valid);
  if (valid == text->str + *shown && !all)
    return TRUE;
  part = all && valid < end ? g_utf8_make_valid (text->str + *shown, (gssize)(text->len - *shown))
                            : g_strndup (text->str + *shown, (gsize)(valid - text->str) - *shown);
  printable = command_sentence (part);
  fputs (printable, stdout);
  *shown = (gsize)((all ? end : valid) - text->str);
  return command_flush ();
}

/* Generates until the number of tokens is reached or the text ends with --stop. */
static gboolean
write_text (Generate *g, guint *n_tokens, GError **error)
{
  GString *text = loom_continuation_text (g->continuation);
  gsize shown = 0;

  for (*n_tokens = 0; *n_tokens < (guint)g->most; ++*n_tokens)
    {
      const char *at;

      if (!loom_continuation_step (g->continuation, error))
        return FALSE;
      if (*n_tokens == 1)
        g->second = loom_monotonic ();
      at = g->stop != NULL ? g_strstr_len (text->str, (gssize)text->len, g->stop) : NULL;
      if (at != NULL)
        {
          g_string_truncate (text, (gsize)(at - text->str));
          ++*n_tokens;
          break;
        }
      /* Text that may be the beginning of --stop is not printed yet. */
      if (g->stop == NULL && !show (g, &shown, FALSE))
        return TRUE;
    }
  shown = MIN (shown, text->len);
  show (g, &shown, TRUE);
  return TRUE;
}

static void
print_event (const Generate *g, const char *prompt, guint n_tokens, gint64 start, gint64 end)
{
  double seconds = (double)(end - start) / G_USEC_PER_SEC;
  const GString *generated = loom_continuation_text (g->continuation);
  LoomJson *json = command_event_new ("generation");
  g_autofree char *text = g_utf8_make_valid (generated->str, (gssize)generated->len);

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
  g_autofree char *weights = NULL, *device = NULL, *prompt = NULL, *stop = NULL, *temperature = NULL, *adapter = NULL;
  g_auto (Generate) g = { .most = 200 };
  gint64 seed = 0, start;
  double value = 1;
  int threads = 0, top_k = 0;
  guint n_tokens;
  gboolean no_cache = FALSE;
  const GOptionEntry entries[] = {
    { "prompt", 0, 0, G_OPTION_ARG_STRING, &prompt, "The text to continue (default: a newline)", "TEXT" },
    { "tokens", 0, 0, G_OPTION_ARG_INT, &g.most, "The largest number of tokens to write (200)", "N" },
    { "temperature", 0, 0, G_OPTION_ARG_STRING, &temperature,
      "Temperature of sampling: logits are divided by it; 0: always the likeliest token (1)", "X" },
    { "top-k", 0, 0, G_OPTION_ARG_INT, &top_k, "Sample only from the K likeliest tokens (default: all)", "K" },
    { "stop", 0, 0, G_OPTION_ARG_STRING, &stop, "Stop before this text", "TEXT" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of sampling (0)", "N" },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "FILE[#NAME]" },
    COMMAND_ADAPTER_OPTION (adapter),
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
  if (top_k < 0)
    return command_usage (command, "--top-k takes a positive number.");
  if (prompt != NULL && *prompt == '\0')
    return command_usage (command, "--prompt takes a text that is not empty.");
  if (temperature != NULL && (!command_float (temperature, &value) || value < 0))
    return command_usage (command, "--temperature takes 0 or a positive number, not “%s”.", temperature);
  if (stop != NULL && *stop == '\0')
    return command_usage (command, "--stop takes a text that is not empty.");

  g_autoptr (GError) error = NULL;
  LoomPredictorOptions options = { .device = device, .threads = threads };
  const int status = command_open_predictor (command, argv[1], &weights, adapter, &options, &g.predictor);
  if (status != 0)
    return status;
  LoomContinuationOptions how
      = { .temperature = value, .top_k = (guint)top_k, .seed = (guint32)seed, .no_cache = no_cache };
  g.continuation = loom_continuation_new (g.predictor, prompt != NULL ? prompt : "\n", &how, &error);
  if (g.continuation == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (loom_continuation_why (g.continuation) != NULL)
    command_warn (command, "%s", loom_continuation_why (g.continuation));
  g.stop = stop;
  if (!g.json && prompt != NULL)
    {
      g_autofree char *shown = command_sentence (prompt);

      fputs (shown, stdout);
    }
  start = loom_monotonic ();
  gboolean ok = write_text (&g, &n_tokens, &error);
  gint64 end = loom_monotonic ();
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
