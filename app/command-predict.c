/* `gradloom predict`: applies a trained net to files. An unreadable file is reported, and the others are still
 * computed. */
#include "app/predict-private.h"
#include "app/shared/adapter-option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE ((gsize)1 << 30)

static void
sample_free (gpointer data)
{
  PredictSample *sample = data;

  loom_tensor_unref (sample->tensor);
  g_free (sample->file);
  g_free (sample->note);
  g_clear_pointer (&sample->bytes, g_bytes_unref);
  g_free (sample);
}

static void
predict_clear (Predict *p)
{
  loom_sample_reader_free (p->reader);
  loom_decoder_free (p->decoder);
  loom_predictor_free (p->predictor);
  predict_masks_clear (&p->masks);
  g_clear_pointer (&p->waiting, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Predict, predict_clear)

/* ---- files -------------------------------------------------------------- */

/* Reports an error of one file; the others are still processed. */
static void
complain (Predict *p, const char *file, GError *error)
{
  int status = loom_error_exit_status (error);

  /* A file that cannot be read counts as wrong data, as in other commands. */
  p->status = status == 5 ? 1 : status;
  g_autofree char *sentence = command_sentence (error->message);
  fprintf (stderr, "gradloom %s: %s\n", p->command->name, sentence);
  if (p->json)
    {
      LoomJson *json = command_event_new ("error");
      loom_json_string (json, "file", file);
      loom_json_string (json, "message", error->message);
      command_event_print (json);
    }
  g_error_free (error);
}

static GBytes *
read_bytes (Predict *p, const char *file, const char *name, GError **error)
{
  gboolean standard_input = g_str_equal (file, "-");
  FILE *stream = standard_input ? stdin : fopen (file, "rbe");
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  static guint8 block[1 << 16];
  gsize n;

  if (stream == NULL || loom_path_is_folder (file))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   stream != NULL ? "“%s” is a folder; name the files in it." : "“%s” cannot be opened.", name);
      if (stream != NULL)
        fclose (stream);
      return NULL;
    }
  if (standard_input && p->standard_input_is_read)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "Standard input can be read only once.");
      return NULL;
    }
  p->standard_input_is_read |= standard_input;
  while ((n = fread (block, 1, sizeof block, stream)) > 0 && bytes->len <= MAX_FILE)
    g_byte_array_append (bytes, block, (guint)n);
  gboolean failed = ferror (stream) != 0;
  if (!standard_input)
    fclose (stream);
  if (failed || bytes->len > MAX_FILE)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, failed ? "“%s” cannot be read." : "“%s” is larger than 1 GiB.",
                   name);
      return NULL;
    }
  return g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
}

static gboolean
same_shape (const LoomTensor *a, const LoomTensor *b)
{
  return a->rank == b->rank && memcmp (a->dim, b->dim, a->rank * sizeof *a->dim) == 0;
}

/* TRUE if both samples can be in one batch: a net that generates text pads sequences itself. */
static gboolean
go_together (const Predict *p, const LoomTensor *a, const LoomTensor *b)
{
  return same_shape (a, b) || (p->decoder != NULL && a->rank == 1 && b->rank == 1);
}

static void
print_answer (Predict *p, const PredictSample *s, gconstpointer answer)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *mask = NULL;

  if (p->decoder != NULL)
    {
      predict_print_written (p, s, answer);
      return;
    }
  if (p->masks.folder != NULL && predict_detects (p, answer))
    mask = predict_boxes_write (&p->masks, s->file, s->bytes, &s->frame, answer, PREDICT_LEAST_SCORE, &error);
  else if (p->masks.folder != NULL)
    mask = predict_masks_write (&p->masks, s->file, s->bytes, &s->frame, answer, &error);
  if (error != NULL)
    complain (p, s->file, g_steal_pointer (&error));
  else
    (p->json ? predict_print_json : predict_print_text) (p, s, answer, mask);
}

/* Computes the queued inputs, in batches of one shape, and prints the results. FALSE after a failure that concerns more
 * than one file. */
static gboolean
flush (Predict *p)
{
  while (p->waiting->len > 0)
    {
      g_autoptr (GPtrArray) tensors = g_ptr_array_new ();
      g_autoptr (GError) error = NULL;
      const PredictSample *first = p->waiting->pdata[0];

      while (tensors->len < p->waiting->len && tensors->len < (guint)p->batch
             && go_together (p, first->tensor, ((PredictSample *)p->waiting->pdata[tensors->len])->tensor))
        g_ptr_array_add (tensors, ((PredictSample *)p->waiting->pdata[tensors->len])->tensor);
      guint n = tensors->len;
      LoomTensor *const *samples = (LoomTensor *const *)tensors->pdata;
      g_autoptr (GPtrArray) answers = p->decoder != NULL ? loom_decoder_run (p->decoder, samples, n, &error)
                                                         : loom_predictor_run (p->predictor, samples, n, &error);
      g_autofree char *note = loom_predictor_take_note (p->predictor);
      if (note != NULL)
        command_warn (p->command, "%s", note);
      if (answers == NULL && error->code == LOOM_ERROR_SHAPE && n == 1)
        complain (p, first->file, g_steal_pointer (&error));
      else if (answers == NULL)
        {
          p->status = command_fail (p->command, g_steal_pointer (&error));
          return FALSE;
        }
      for (guint i = 0; answers && i < n; i++)
        print_answer (p, p->waiting->pdata[i], answers->pdata[i]);
      g_ptr_array_remove_range (p->waiting, 0, n);
      if (!command_flush ())
        return FALSE;
    }
  return TRUE;
}

static gboolean
predict_file (Predict *p, const char *file)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_str_equal (file, "-") ? g_strdup ("standard input") : g_filename_display_name (file);
  g_autoptr (GBytes) bytes = read_bytes (p, file, name, &error);
  g_autoptr (GPtrArray) items = bytes ? loom_sample_reader_read (p->reader, bytes, name, &error) : NULL;

  if (items == NULL)
    {
      if (!flush (p)) /* messages keep the order of their files */
        return FALSE;
      complain (p, name, g_steal_pointer (&error));
      return TRUE;
    }
  for (guint i = 0; i < items->len; i++)
    {
      LoomSampleItem *item = items->pdata[i];
      PredictSample *sample = g_new0 (PredictSample, 1);
      sample->file = g_strdup (name);
      sample->row = item->row;
      sample->tensor = loom_tensor_ref (item->tensor);
      sample->note = g_steal_pointer (&item->note);
      sample->frame = item->frame;
      if (p->masks.folder != NULL)
        sample->bytes = g_bytes_ref (bytes);
      g_ptr_array_add (p->waiting, sample);
    }
  return p->waiting->len < (guint)p->batch || flush (p);
}

/* ---- arguments ---------------------------------------------------------- */

static gboolean
read_range (const char *text, double *low, double *high)
{
  g_auto (GStrv) part = g_strsplit (text, ",", -1);
  return g_strv_length (part) == 2 && command_float (part[0], low) && command_float (part[1], high) && *low != *high;
}

static int
run_predict (const Command *command, int argc, char **argv)
{
  g_autofree char *weights = NULL, *output = NULL, *device = NULL, *fit = NULL, *range = NULL, *adapter = NULL;
  g_auto (Predict) p = { .command = command, .top = 3, .batch = 64 };
  LoomSampleOptions how = { .low = NAN, .high = NAN };
  int threads = 0, beam = 0;
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "FILE[#NAME]" },
    COMMAND_ADAPTER_OPTION (adapter),
    { "output", 0, 0, G_OPTION_ARG_STRING, &output,
      "The port to print (default: the prediction that the loss compares)", "NODE[.PORT]" },
    { "top", 0, 0, G_OPTION_ARG_INT, &p.top, "The number of classes to print (3)", "K" },
    { "beam", 0, 0, G_OPTION_ARG_INT, &beam, "Nets with a decoder: the width of the beam search (1: greedy)", "K" },
    { "invert", 0, 0, G_OPTION_ARG_NONE, &how.invert, "Pictures: invert black and white", NULL },
    { "fit", 0, 0, G_OPTION_ARG_STRING, &fit, "Pictures of other proportions: stretch (default), crop or pad", "HOW" },
    { "range", 0, 0, G_OPTION_ARG_STRING, &range,
      "Pictures: the values of black and white (default: as in the data set)", "LOW,HIGH" },
    { "masks", 0, 0, G_OPTION_ARG_FILENAME, &p.masks.folder,
      "Nets with a class at every pixel: write a mask (PNG with a palette), and the picture with the mask over it; of "
      "detections the picture with boxes",
      "DIR" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT, &p.batch, "Batch size (64)", "N" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: cpu)", "D" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &p.json, "Print one JSON object per sample", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc < 3)
    return command_usage (command, "It takes a RUN folder (or a GRAPH with --weights) and at least one FILE.");
  if (p.top < 1)
    return command_usage (command, "--top takes a positive number.");
  if (beam < 0 || beam > 1024)
    return command_usage (command, "--beam takes a number from 1 to 1024.");
  while (fit != NULL && how.fit < LOOM_N_FITS && !g_str_equal (fit, loom_picture_fits[how.fit]))
    how.fit++;
  if (how.fit == LOOM_N_FITS)
    return command_usage (command, "--fit takes stretch, crop or pad, not “%s”.", fit);
  if (range != NULL && !read_range (range, &how.low, &how.high))
    return command_usage (command, "--range takes two numbers, such as 0,255, not “%s”.", range);

  g_autoptr (GError) error = NULL;
  LoomPredictorOptions options = { .output = output, .device = device, .threads = threads };
  const int status = command_open_predictor (command, argv[1], &weights, adapter, &options, &p.predictor);
  if (status != 0)
    return status;
  if (beam > 0 && !loom_predictor_writes (p.predictor))
    return command_usage (command, "--beam is only for nets with a decoder, which are trained with a data set's y_in.");
  if (loom_predictor_writes (p.predictor))
    {
      p.decoder = loom_decoder_new (p.predictor, (guint)MAX (beam, 1), &error);
      if (p.decoder == NULL)
        return command_fail (command, g_steal_pointer (&error));
    }
  const char *why;
  const LoomDataset *dataset = loom_predictor_dataset (p.predictor, &why);
  if (why != NULL)
    command_warn (command, "classes have no names, because their data are missing: %s", why);
  p.reader = loom_sample_reader_new (loom_predictor_input (p.predictor), dataset, &how);
  p.waiting = g_ptr_array_new_with_free_func (sample_free);
  for (int i = 2; i < argc; i++)
    p.width = MIN (40, MAX (p.width, (int)strlen (argv[i])));
  for (int i = 2; i < argc; i++)
    if (!predict_file (&p, argv[i]))
      return p.status;
  flush (&p);
  return p.status;
}

const Command command_predict = {
  .name = "predict",
  .arguments = "RUN FILE…",
  .summary = "predict classes or values from images, tables, arrays or texts",
  .details
  = "A FILE has the form of the samples of the run's data set: a picture (PNG, JPEG …) is converted to the net's\n"
    "size, channels and range; a CSV file has the columns of x in its header, and may lack the target; an .npy file\n"
    "is one sample or an array of samples; for a text the next token is predicted. - is standard input. The\n"
    "conversions of a picture are printed after its prediction. Nets trained with cross_entropy print\n"
    "probabilities, others their values; of ctc_loss the labels of greedy decoding are printed. A net with a decoder "
    "(trained with the data set's y_in) writes an output\n"
    "for each line of a text, or each picture. Of a class at every pixel the fractions of the picture are printed,\n"
    "of detections those with a score of at least 50 %, with the corners of their boxes in pixels of the picture.\n\n"
    "A file that cannot be read is reported; the others are processed, and the exit status is 1.\n\n"
    "  gradloom predict run1 shirt.png boot.jpg\n"
    "  gradloom predict run1 --top 1 --json rows.csv\n"
    "  gradloom predict dates --beam 4 dates.txt\n"
    "  gradloom predict unet --masks masks photo.jpg\n"
    "  gradloom predict graph.xml --weights w.safetensors x.npy",
  .run = run_predict,
};
