/* Nets that write: beam search against all that could be written, and the likeliest token each time. */
#include "engine/loom-lab.h"
#include "engine/data/loom-vocabulary.h"
#include "engine/interop/loom-safetensors.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define CLASSES 7 /* <pad>, <start>, <end>, <unk>, a, b, c */
#define PLACES  4
#define SOURCE  2

/* The next token depends on the token before and on the mean of the words: the decoder is a table, and so is the
 * encoder. */
#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"pairs\" path=\"%s\" unit=\"character\" source_length=\"2\" "              \
  "target_length=\"3\" test_fraction=\"0.5\" seed=\"1\"/>"                                                             \
  "<node id=\"words\" op=\"embedding\" num_embeddings=\"7\" embedding_dim=\"7\"/>"                                     \
  "<node id=\"all\" op=\"sum\" dim=\"1\" keepdim=\"true\"/>"                                                           \
  "<node id=\"next\" op=\"embedding\" num_embeddings=\"7\" embedding_dim=\"7\"/><node id=\"both\" op=\"add\"/>"        \
  "<node id=\"scores\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"               \
  "<wire from=\"data.x\" to=\"words\"/><wire from=\"words\" to=\"all\"/><wire from=\"data.y_in\" to=\"next\"/>"        \
  "<wire from=\"next\" to=\"both.input\"/><wire from=\"all\" to=\"both.other\"/>"                                      \
  "<wire from=\"both\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"                                       \
  "<wire from=\"data.y\" to=\"loss.target\"/>"                                                                         \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\"/></graph>"

typedef struct
{
  char *folder, *weights;
  LoomTensor *words, *next; /* [7, 7] */
  LoomPredictor *predictor;
} Fixture;

static LoomTensor *
random_table (GRand *rand, GPtrArray *items, const char *name)
{
  LoomTensor *t = loom_tensor_new (LOOM_F32, 2, (const gint64[]){ CLASSES, CLASSES }, NULL);

  for (gint64 i = 0; i < t->count; i++)
    loom_tensor_set (t, i, g_rand_double_range (rand, -1.5, 1.5));
  g_ptr_array_add (items, loom_named_tensor_new (name, t));
  return t;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (9);
  g_autoptr (GPtrArray) items = loom_named_tensors_new ();
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autofree char *table = NULL, *xml = NULL;

  f->folder = g_dir_make_tmp ("gradloom-decoder-XXXXXX", NULL);
  f->weights = g_build_filename (f->folder, "w.safetensors", NULL);
  table = g_build_filename (f->folder, "pairs.tsv", NULL);
  g_file_set_contents (table, "ab\tabc\nba\tcb\nc\ta\nbc\tbb\nca\tc\ncb\tabb\na\tccc\nac\tba\n", -1, &error);
  g_assert_no_error (error);
  xml = g_strdup_printf (GRAPH, table);
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  f->words = random_table (rand, items, "words.weight");
  f->next = random_table (rand, items, "next.weight");
  loom_safetensors_save (f->weights, items, NULL, &error);
  g_assert_no_error (error);
  f->predictor = loom_predictor_new (graph, &(LoomPredictorOptions){ .weights = f->weights, .threads = 1 }, &error);
  g_assert_no_error (error);
  g_assert_true (loom_predictor_writes (f->predictor));
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  loom_predictor_free (f->predictor);
  loom_tensor_unref (f->words);
  loom_tensor_unref (f->next);
  remove_tree (f->folder);
  g_free (f->folder);
  g_free (f->weights);
}

/* ---- by trying all -------------------------------------------------------------------- */

typedef struct
{
  double next[CLASSES][CLASSES]; /* log p of the second after the first */
  gint64 token[PLACES], best[PLACES];
  guint n_best;
  double best_score;
} Trial;

static void
fill_trial (const Fixture *f, Trial *t, const LoomTensor *x)
{
  for (int before = 0; before < CLASSES; before++)
    {
      double sum = 0;

      for (int c = 0; c < CLASSES; c++)
        {
          double score = loom_tensor_get (f->next, before * CLASSES + c);

          for (gint64 s = 0; s < SOURCE; s++)
            score += loom_tensor_get (f->words, (s < x->dim[0] ? (gint64)loom_tensor_get (x, s) : 0) * CLASSES + c);
          t->next[before][c] = score;
          sum += exp (score);
        }
      for (int c = 0; c < CLASSES; c++)
        t->next[before][c] -= log (sum);
    }
  t->best_score = -INFINITY;
}

static void
evaluate (Trial *t, guint n, double log_p)
{
  double score = log_p / pow ((5.0 + n) / 6.0, 0.6);

  if (score <= t->best_score)
    return;
  t->best_score = score;
  t->n_best = n;
  memcpy (t->best, t->token, sizeof t->best);
}

static void
try_all (Trial *t, guint n, double log_p)
{
  const double *next = t->next[n == 0 ? LOOM_TOKEN_START : t->token[n - 1]];

  if (n == PLACES)
    {
      evaluate (t, n, log_p);
      return;
    }
  evaluate (t, n, log_p + next[LOOM_TOKEN_END]);
  for (gint64 c = LOOM_TOKEN_UNKNOWN; c < CLASSES; c++)
    {
      t->token[n] = c;
      try_all (t, n + 1, log_p + next[c]);
    }
}

static LoomTensor *
sample (const char *text)
{
  gint64 n = (gint64)strlen (text);
  LoomTensor *t = loom_tensor_new (LOOM_I64, 1, &n, NULL);

  for (gint64 i = 0; i < n; i++)
    ((gint64 *)t->data)[i] = LOOM_N_TOKENS + (text[i] - 'a');
  return t;
}

static GPtrArray *
write_all (Fixture *f, guint beam, GPtrArray *samples)
{
  static const char *const texts[] = { "ab", "c", "ba", "cc", "a" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDecoder) decoder = loom_decoder_new (f->predictor, beam, &error);
  GPtrArray *written;

  g_assert_no_error (error);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    g_ptr_array_add (samples, sample (texts[i]));
  written = loom_decoder_run (decoder, (LoomTensor *const *)samples->pdata, samples->len, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (written->len, ==, G_N_ELEMENTS (texts));
  return written;
}

/* A beam that holds everything finds the best of all. */
static void
test_everything (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) samples = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GPtrArray) written = write_all (f, 700, samples);

  for (guint i = 0; i < written->len; i++)
    {
      const LoomWritten *said = written->pdata[i];
      Trial t = { 0 };

      fill_trial (f, &t, samples->pdata[i]);
      try_all (&t, 0, 0);
      g_assert_cmpuint (said->n, ==, t.n_best);
      g_assert_cmpmem (said->token, said->n * sizeof (gint64), t.best, t.n_best * sizeof (gint64));
      g_assert_cmpfloat_with_epsilon (said->score, t.best_score, 1e-5);
    }
}

/* A beam of 1 takes the likeliest token, and ends if that is the end token. */
static void
test_greedy (Fixture *f, gconstpointer data)
{
  g_autoptr (GPtrArray) samples = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GPtrArray) written = write_all (f, 1, samples);

  for (guint i = 0; i < written->len; i++)
    {
      const LoomWritten *said = written->pdata[i];
      gint64 before = LOOM_TOKEN_START;
      Trial t = { 0 };

      fill_trial (f, &t, samples->pdata[i]);
      for (guint n = 0; n <= said->n && n < PLACES; n++)
        {
          gint64 best = LOOM_TOKEN_END;

          for (gint64 c = LOOM_TOKEN_END; c < CLASSES; c++)
            best = t.next[before][c] > t.next[before][best] ? c : best;
          if (n < said->n)
            g_assert_cmpint (said->token[n], ==, best);
          else
            g_assert_cmpint (best, ==, LOOM_TOKEN_END);
          before = best;
        }
    }
}

/* More beginnings never find less, by the measure that they are compared by; here they find more. */
static void
test_wider (Fixture *f, gconstpointer data)
{
  double before[5] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY }, gain = 0;

  static const guint beams[] = { 1, 4, 700 };

  for (gsize k = 0; k < G_N_ELEMENTS (beams); k++)
    {
      guint beam = beams[k];
      g_autoptr (GPtrArray) samples = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
      g_autoptr (GPtrArray) written = write_all (f, beam, samples);

      for (guint i = 0; i < written->len; i++)
        {
          double score = ((const LoomWritten *)written->pdata[i])->score;

          g_assert_cmpfloat (score, >=, before[i] - 1e-6);
          gain += beam > 1 ? score - before[i] : 0;
          before[i] = score;
        }
    }
  g_assert_cmpfloat (gain, >, 1e-3);
}

/* The test sentences as they are written, counted one by one. */
static void
test_evaluate (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDecoder) decoder = loom_decoder_new (f->predictor, 2, &error);
  LoomTranslation all, again;

  g_assert_true (loom_decoder_evaluate (decoder, 3, &all, &error));
  g_assert_no_error (error);
  g_assert_cmpint (all.sentences, ==, 4);
  g_assert_cmpint (all.bleu.reference, >=, 4);
  g_assert_cmpint (all.bleu.found[0], <=, all.bleu.said[0]);
  /* A sentence is generated alike in any batch. */
  g_assert_true (loom_decoder_evaluate (decoder, 1, &again, &error));
  g_assert_cmpmem (&all, sizeof all, &again, sizeof again);
}

/* The same sentences as texts: as many of them are right. */
static void
test_examples (Fixture *f, gconstpointer data)
{
  static const gint64 index[] = { 3, 0, 1, 2 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDecoder) decoder = loom_decoder_new (f->predictor, 2, &error);
  g_autoptr (GPtrArray) examples = loom_decoder_examples (decoder, LOOM_SPLIT_TEST, index, 4, &error);
  LoomTranslation all;
  gint64 exact = 0;

  g_assert_no_error (error);
  g_assert_true (loom_decoder_evaluate (decoder, 4, &all, &error));
  g_assert_cmpuint (examples->len, ==, 4);
  for (guint i = 0; i < examples->len; i++)
    {
      const LoomDecoderExample *e = examples->pdata[i];
      const LoomSplit split = LOOM_SPLIT_TEST;
      g_autoptr (GPtrArray) read
          = loom_dataset_read_new (loom_predictor_dataset (f->predictor, NULL), split, &index[i], 1, &error);
      const LoomTensor *x = read->pdata[0];
      const char *const *names = loom_dataset_token_names (loom_predictor_dataset (f->predictor, NULL));

      g_assert_true (g_str_has_prefix (e->source, names[(gint64)loom_tensor_get (x, 0)]));
      g_assert_null (strchr (e->source, '<'));
      g_assert_null (strchr (e->target, '<'));
      exact += g_str_equal (e->target, e->written);
    }
  g_assert_cmpint (exact, ==, all.exact);
  g_assert_null (loom_decoder_examples (decoder, LOOM_SPLIT_TEST, (gint64[]){ 4 }, 1, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/decoder/everything", Fixture, NULL, set_up, test_everything, tear_down);
  g_test_add ("/decoder/greedy", Fixture, NULL, set_up, test_greedy, tear_down);
  g_test_add ("/decoder/wider", Fixture, NULL, set_up, test_wider, tear_down);
  g_test_add ("/decoder/evaluate", Fixture, NULL, set_up, test_evaluate, tear_down);
  g_test_add ("/decoder/examples", Fixture, NULL, set_up, test_examples, tear_down);
  return g_test_run ();
}
