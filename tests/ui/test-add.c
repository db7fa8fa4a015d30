/* Adding nodes: what fits where, how a search is ranked, and what each way of adding leaves in the graph. */
#include "tests/ui/document-test.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-search.h"

static LoomType
type_of (LoomDType dtype, const char *shape)
{
  LoomType type = { .dtype = dtype };

  g_assert_true (loom_shape_parse (shape, &type.shape));
  return type;
}

static void
test_behind (void)
{
  static const struct
  {
    const char *op;
    LoomDType dtype;
    const char *shape;
    StudioFit fit;
    guint input;
  } cases[] = {
    { "flatten", LOOM_F32, "B,1,28,28", STUDIO_FIT_WELL, 0 },  { "conv2d", LOOM_F32, "B,1,28,28", STUDIO_FIT_WELL, 0 },
    { "conv2d", LOOM_F32, "B,10", STUDIO_FIT_NOT, 0 },         { "linear", LOOM_F32, "B,10", STUDIO_FIT_WELL, 0 },
    { "linear", LOOM_F32, "B,1,28,28", STUDIO_FIT_HINT, 0 },   { "linear", LOOM_I64, "B", STUDIO_FIT_NOT, 0 },
    { "embedding", LOOM_I64, "B,T", STUDIO_FIT_WELL, 0 },      { "embedding", LOOM_F32, "B,10", STUDIO_FIT_NOT, 0 },
    { "cross_entropy", LOOM_F32, "B,10", STUDIO_FIT_WELL, 0 }, { "cross_entropy", LOOM_I64, "B", STUDIO_FIT_WELL, 1 },
    { "mse_loss", LOOM_F32, "B,1", STUDIO_FIT_WELL, 0 },       { "add", LOOM_F32, "B,10", STUDIO_FIT_WELL, 0 },
    { "matmul", LOOM_F32, "B,10", STUDIO_FIT_WELL, 0 },        { "dataset", LOOM_F32, "B,10", STUDIO_FIT_NOT, 0 },
    { "einsum", LOOM_F32, "B,10", STUDIO_FIT_UNKNOWN, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomType type = type_of (cases[i].dtype, cases[i].shape);
      guint input = 99;

      g_test_message ("%s behind %s", cases[i].op, cases[i].shape);
      g_assert_cmpint (studio_fit_behind (loom_op (cases[i].op), &type, &input), ==, cases[i].fit);
      if (cases[i].fit > STUDIO_FIT_NOT)
        g_assert_cmpuint (input, ==, cases[i].input);
    }
}

/* A card that was just added has things to do, but nothing is wrong with it. */
static void
test_never_red (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      g_autoptr (StudioDocument) document = studio_document_new ();
      StudioScene *scene;

      if ((*op)->category == LOOM_CATEGORY_HIDDEN)
        continue;
      g_assert_cmpuint (studio_document_add_node (document, (*op)->name, 100, 100), !=, 0);
      studio_document_get_net (document);
      scene = studio_document_get_scene (document);
      g_test_message ("%s: %s", (*op)->name, scene->item[0].fault != NULL ? scene->item[0].fault : "nothing");
      g_assert_cmpint (studio_item_tone (&scene->item[0]), !=, STUDIO_TONE_ERROR);
      g_assert_true (studio_document_undo (document));
      g_assert_true (studio_document_is_empty (document));
    }
}

/* All operators at once, as a search that opens asks; the first time a wire is drawn backwards costs more. */
static void
test_speed (void)
{
  LoomType type = type_of (LOOM_F32, "B,10");
  g_autoptr (LoomElement) loss = studio_fit_fresh_node (loom_op ("cross_entropy"), "loss");
  const LoomType *input[2] = { &type, NULL };

  for (guint round = 0; round < 3; round++)
    {
      gint64 start = g_get_monotonic_time (), half;
      guint n = 0;

      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        n += studio_fit_behind (*op, &type, NULL) > STUDIO_FIT_NOT;
      half = g_get_monotonic_time ();
      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        n += studio_fit_before (*op, loss, input, 2, 1) > STUDIO_FIT_NOT;
      g_test_message ("%u fits: behind %.1f ms, before %.1f ms", n, (half - start) / 1e3,
                      (g_get_monotonic_time () - half) / 1e3);
      g_assert_cmpuint (n, >, 100);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/add/behind", test_behind);
  g_test_add_func ("/add/never-red", test_never_red);
  g_test_add_func ("/add/speed", test_speed);
  return g_test_run ();
}
