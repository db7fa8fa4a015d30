/* Adding nodes: which operators fit, how a search is ranked, and the graph after each way of adding. */
#include <glib/gstdio.h>

#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-search.h"
#include "ui/document/studio-typed-layer.h"
#include "ui/scene/studio-geometry.h"

static LoomType
type_of (LoomDType dtype, const char *shape)
{
  LoomType type = { .dtype = dtype };

  g_assert_true (loom_shape_parse (shape, &type.shape));
  return type;
}

static void
test_after (void)
{
  static const struct
  {
    const char *op;
    LoomDType dtype;
    const char *shape;
    LoomFit fit;
    guint input;
  } cases[] = {
    { "flatten", LOOM_F32, "B,1,28,28", LOOM_FIT_WELL, 0 },  { "conv2d", LOOM_F32, "B,1,28,28", LOOM_FIT_WELL, 0 },
    { "conv2d", LOOM_F32, "B,10", LOOM_FIT_NOT, 0 },         { "linear", LOOM_F32, "B,10", LOOM_FIT_WELL, 0 },
    { "linear", LOOM_F32, "B,1,28,28", LOOM_FIT_HINT, 0 },   { "linear", LOOM_I64, "B", LOOM_FIT_NOT, 0 },
    { "embedding", LOOM_I64, "B,T", LOOM_FIT_WELL, 0 },      { "embedding", LOOM_F32, "B,10", LOOM_FIT_NOT, 0 },
    { "cross_entropy", LOOM_F32, "B,10", LOOM_FIT_WELL, 0 }, { "cross_entropy", LOOM_I64, "B", LOOM_FIT_WELL, 1 },
    { "mse_loss", LOOM_F32, "B,1", LOOM_FIT_WELL, 0 },       { "add", LOOM_F32, "B,10", LOOM_FIT_WELL, 0 },
    { "matmul", LOOM_F32, "B,10", LOOM_FIT_WELL, 0 },        { "dataset", LOOM_F32, "B,10", LOOM_FIT_NOT, 0 },
    { "einsum", LOOM_F32, "B,10", LOOM_FIT_UNKNOWN, 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      LoomType type = type_of (cases[i].dtype, cases[i].shape);
      guint input = 99;

      g_test_message ("%s after %s", cases[i].op, cases[i].shape);
      g_assert_cmpint (loom_fit_after (loom_op (cases[i].op), &type, &input), ==, cases[i].fit);
      if (cases[i].fit > LOOM_FIT_NOT)
        g_assert_cmpuint (input, ==, cases[i].input);
    }
}

/* ---- in a graph ------------------------------------------------------------ */

static const char chain[]
    = "<graph xmlns='urn:gradloom:graph' version='1'>"
      "<node id='data' op='dataset' source='spirals'/><node id='fc' op='linear' out_features='2'/>"
      "<wire from='data.x' to='fc'/>"
      "<layout><place node='data' x='0' y='0'/><place node='fc' x='240' y='0'/></layout></graph>";

static StudioAddPlace
place_of (StudioDocument *document, StudioAddKind kind, const char *id)
{
  StudioScene *scene;
  StudioAddPlace place = { .kind = kind, .x = 300, .y = 300 };

  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  if (kind == STUDIO_ADD_ON_WIRE)
    {
      place.serial = scene->link[0].serial;
      place.x = 210;
      place.y = 30;
    }
  else if (kind != STUDIO_ADD_AT)
    place.serial = document_serial (document, id);
  return place;
}

static gboolean
has_wire (StudioDocument *document, const char *from, const char *to)
{
  LoomElement *scope = studio_document_get_scope (document);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_WIRE && g_str_equal (loom_element_get (e, "from"), from)
          && g_str_equal (loom_element_get (e, "to"), to))
        return TRUE;
    }
  return FALSE;
}

static void
assert_apart (StudioDocument *document)
{
  StudioScene *scene = studio_document_get_scene (document);

  for (guint i = 0; i < scene->n_items; i++)
    for (guint k = i + 1; k < scene->n_items; k++)
      {
        StudioRect a = studio_geometry_card (&scene->item[i]), b = studio_geometry_card (&scene->item[k]);

        g_assert_false (studio_rect_intersects (&a, &b));
      }
}

typedef struct
{
  StudioAddKind kind;
  const char *anchor;
  gboolean from_output;
  const char *port; /* LOOSE */
  const char *op;
  const char *wires[4]; /* from, to, … */
} Added;

static void
test_added (void)
{
  static const Added cases[] = {
    { STUDIO_ADD_AT, NULL, FALSE, NULL, "relu", { NULL } },
    { STUDIO_ADD_AFTER, "fc", FALSE, NULL, "relu", { "fc", "relu" } },
    { STUDIO_ADD_AFTER, "data", FALSE, NULL, "linear", { "data.x", "linear", "linear", "fc" } },
    { STUDIO_ADD_AFTER, "data", FALSE, NULL, "one_hot", { "data.y", "one_hot" } },
    { STUDIO_ADD_AFTER,
      "fc",
      FALSE,
      NULL,
      "cross_entropy",
      { "fc", "cross_entropy.input", "data.y", "cross_entropy.target" } },
    { STUDIO_ADD_AFTER, "fc", FALSE, NULL, "conv2d", { NULL } },
    { STUDIO_ADD_LOOSE, "data", TRUE, "y", "one_hot", { "data.y", "one_hot" } },
    { STUDIO_ADD_LOOSE, "fc", FALSE, "input", "relu", { "relu", "fc" } },
    { STUDIO_ADD_ON_WIRE, NULL, FALSE, NULL, "relu", { "data.x", "relu", "relu", "fc" } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Added *c = &cases[i];
      g_autoptr (StudioDocument) document = document_load (chain);
      g_autofree char *before = document_text (document), *after = NULL, *said = NULL;
      StudioAddPlace place = place_of (document, c->kind, c->anchor);

      g_test_message ("%u: %s", i, c->op);
      place.from_output = c->from_output;
      place.port = c->port;
      g_assert_cmpuint (studio_document_add (document, c->op, FALSE, NULL, &place, &said), !=, 0);
      for (guint w = 0; w < G_N_ELEMENTS (c->wires) && c->wires[w] != NULL; w += 2)
        g_assert_true (has_wire (document, c->wires[w], c->wires[w + 1]));
      g_assert_true ((said != NULL) == (c->wires[0] == NULL && c->kind != STUDIO_ADD_AT));
      assert_apart (document);
      g_assert_true (studio_document_undo (document));
      g_assert_null (studio_document_undo_name (document));
      after = document_text (document);
      g_assert_cmpstr (after, ==, before);
    }
}

static const char forked[]
    = "<graph xmlns='urn:gradloom:graph' version='1'>"
      "<node id='data' op='dataset' source='spirals'/><node id='fc' op='linear' out_features='8'/>"
      "<node id='a' op='linear' out_features='2'/><node id='b' op='linear' out_features='2'/>"
      "<wire from='data.x' to='fc'/><wire from='fc' to='a'/><wire from='fc' to='b'/>"
      "<layout><place node='data' x='0' y='0'/><place node='fc' x='240' y='0'/><place node='a' x='480' y='0'/>"
      "<place node='b' x='480' y='120'/></layout></graph>";

/* A node added to a card with readers is inserted before all of them in one step; a branch, a loss, or a node whose
 * output they do not accept leaves them unchanged. */
static void
test_between (void)
{
  static const struct
  {
    const char *op;
    gboolean branch, between;
  } cases[]
      = { { "relu", FALSE, TRUE }, { "relu", TRUE, FALSE }, { "mse_loss", FALSE, FALSE }, { "argmax", FALSE, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (StudioDocument) document = document_load (forked);
      g_autofree char *before = document_text (document), *after = NULL, *said = NULL;
      StudioAddPlace place = place_of (document, STUDIO_ADD_AFTER, "fc");
      const char *op = cases[i].op;
      g_autofree char *input = g_str_equal (op, "mse_loss") ? g_strdup ("mse_loss.input") : g_strdup (op);

      g_test_message ("%s%s", op, cases[i].branch ? ", a branch" : "");
      place.branch = cases[i].branch;
      g_assert_cmpuint (studio_document_add (document, op, FALSE, NULL, &place, &said), !=, 0);
      g_assert_null (said);
      g_assert_true (has_wire (document, "fc", input));
      g_assert_cmpint (has_wire (document, "fc", "a"), ==, !cases[i].between);
      g_assert_cmpint (has_wire (document, "fc", "b"), ==, !cases[i].between);
      g_assert_cmpint (has_wire (document, op, "a"), ==, cases[i].between);
      g_assert_cmpint (has_wire (document, op, "b"), ==, cases[i].between);
      assert_apart (document);
      g_assert_true (studio_document_undo (document));
      after = document_text (document);
      g_assert_cmpstr (after, ==, before);
    }
}

/* Cards after an inserted one move to make space for it. */
static void
test_room (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioAddPlace place = place_of (document, STUDIO_ADD_ON_WIRE, NULL);
  StudioScene *scene;
  double data, fc, between;

  studio_document_add (document, "relu", FALSE, NULL, &place, NULL);
  scene = studio_document_get_scene (document);
  data = scene->item[studio_scene_find_id (scene, "data")].x;
  fc = scene->item[studio_scene_find_id (scene, "fc")].x;
  between = scene->item[studio_scene_find_id (scene, "relu")].x;
  g_assert_cmpfloat (between, >=, data + STUDIO_CARD_WIDTH + 40);
  g_assert_cmpfloat (fc, >=, between + STUDIO_CARD_WIDTH + 40);
}

/* An existing card with free ports can be inserted into a wire, in one step. */
static void
test_inserted (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioAddPlace place = { .kind = STUDIO_ADD_AT, .x = 300, .y = 300 };
  guint64 relu = studio_document_add (document, "relu", FALSE, NULL, &place, NULL), wire;
  g_autofree char *before = document_text (document), *after = NULL;

  studio_document_get_net (document);
  wire = studio_document_get_scene (document)->link[0].serial;
  g_assert_true (studio_document_can_insert (document, relu, wire));
  g_assert_false (studio_document_can_insert (document, document_serial (document, "fc"), wire));
  g_assert_true (studio_document_insert_in_wire (document, relu, wire, 12, -240));
  g_assert_true (has_wire (document, "data.x", "relu"));
  g_assert_true (has_wire (document, "relu", "fc"));
  g_assert_false (has_wire (document, "data.x", "fc"));
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
}

/* Of what is offered at a loose wire the best comes first. */
static const char *
first_for (StudioDocument *document, const StudioAddPlace *place, const char *words)
{
  const char *best = NULL;
  guint most = 0;

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      StudioSearchKey *key = studio_search_key_new (*op);
      guint rank = (*op)->category != LOOM_CATEGORY_HIDDEN && (*op)->category != LOOM_CATEGORY_DATA
                       ? studio_search_order (studio_search_rank (key, words),
                                              studio_document_fit (document, *op, place), words)
                       : 0;

      if (rank > most)
        {
          most = rank;
          best = (*op)->name;
        }
      studio_search_key_free (key);
    }
  return best;
}

static void
test_order (void)
{
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioAddPlace rows = place_of (document, STUDIO_ADD_AFTER, "fc"),
                 classes = place_of (document, STUDIO_ADD_LOOSE, "data");

  classes.from_output = TRUE;
  classes.port = "y";
  g_assert_cmpstr (first_for (document, &rows, ""), ==, "linear");
  /* Pictures are not rows: what takes them comes later, although it begins with the letters. */
  g_assert_cmpstr (first_for (document, &rows, "ma"), ==, "matmul");
  g_assert_cmpstr (first_for (document, &rows, "max"), ==, "max");
  g_assert_cmpstr (first_for (document, &rows, "cross"), ==, "cross_entropy");
  g_assert_cmpstr (first_for (document, &classes, ""), ==, "embedding");
  g_assert_cmpint (studio_document_fit (document, loom_op ("linear"), &classes), ==, LOOM_FIT_NOT);
}

/* A line is the layer's name and then its values. */
static void
test_typed_split (void)
{
  static const struct
  {
    const char *text, *words, *values;
  } cases[] = {
    { "lin 10", "lin", "10" },
    { "conv 2d", "conv 2d", NULL },
    { " conv  6 5x5 pad 2 ", "conv", "6 5x5 pad 2" },
    { "max pool, 2", "max pool", "2" },
    { "conv stride=2", "conv", "stride=2" },
    { "-", "-", NULL },
    { "2", "2", NULL },
    { "", "", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *values = NULL, *words = studio_typed_layer_split (cases[i].text, &values);

      g_assert_cmpstr (words, ==, cases[i].words);
      g_assert_cmpstr (values, ==, cases[i].values);
    }
}

static void
test_typed_values (void)
{
  static const struct
  {
    const char *op, *values, *result; /* result: NULL, refused */
  } cases[] = {
    { "conv2d", "6 5x5 pad 2", "out_channels=6 kernel_size=5 padding=2" },
    { "conv2d", "6, 5x3, 2", "out_channels=6 kernel_size=5,3 stride=2" },
    { "conv2d", "5×5 6", "kernel_size=5 out_channels=6" },
    { "conv2d", "6 pad same stride=2", "out_channels=6 padding=same stride=2" },
    { "conv2d", "6 5x5 padding 2x1", "out_channels=6 kernel_size=5 padding=2,1" },
    { "conv2d", "6 padding_mode refl", "out_channels=6 padding_mode=reflect" },
    { "conv2d", "6 5x5x5", NULL },
    { "conv2d", "6 pad", NULL },
    { "conv2d", "6 colour 2", NULL },
    { "conv2d", "6 out 7", NULL },
    { "conv2d", "0", NULL },
    { "conv2d", "6 padding_mode blue", NULL },
    { "linear", "10", "out_features=10" },
    { "linear", "10 no bias", "out_features=10 bias=false" },
    { "linear", "10 bias", "out_features=10 bias=true" },
    { "linear", "features 10", "out_features=10" },
    { "linear", "ten", NULL },
    { "linear", "10 20", NULL },
    { "dropout", "0.3", "p=0.3" },
    { "relu", "3", NULL },
    { "max_pool2d", "2", "kernel_size=2" },
    { "max_pool2d", "3x3 2", "kernel_size=3 stride=2" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *wrong = NULL;
      g_auto (GStrv) pairs = studio_typed_layer_parse (loom_op (cases[i].op), cases[i].values, &wrong);
      g_autoptr (GString) text = g_string_new (NULL);

      for (guint k = 0; pairs != NULL && pairs[k] != NULL; k += 2)
        g_string_append_printf (text, "%s%s=%s", k > 0 ? " " : "", pairs[k], pairs[k + 1]);
      g_test_message ("%s %s: %s", cases[i].op, cases[i].values, wrong != NULL ? wrong : text->str);
      g_assert_true ((pairs == NULL) == (wrong != NULL));
      g_assert_cmpstr (pairs != NULL ? text->str : NULL, ==, cases[i].result);
    }
}

/* Each operator takes the value of its first required parameter, as the search asks for it. */
static void
test_typed_every (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      const LoomParamSpec *first = loom_fit_first_param (*op);
      g_autofree char *line = NULL, *wrong = NULL;
      g_auto (GStrv) pairs = NULL;

      if (first == NULL || first->fresh == NULL || !g_ascii_isdigit (first->fresh[0]))
        continue;
      pairs = studio_typed_layer_parse (*op, first->fresh, &wrong);
      g_test_message ("%s %s: %s", (*op)->name, first->fresh, wrong);
      g_assert_nonnull (pairs);
      g_assert_true (studio_typed_layer_begins_name (first, "relu") || first->type == LOOM_PARAM_SHAPE
                     || first->type == LOOM_PARAM_STRING);
      g_assert_false (studio_typed_layer_begins_name (first, first->fresh));
    }
}

/* A target is wired to the data's lone unread output also where types are not known yet, and to none of several. */
static void
test_lone_target (void)
{
  static const struct
  {
    const char *source, *loss, *from; /* NULL: not wired */
  } cases[] = {
    { "spirals", "cross_entropy", "data.y" }, { "csv' path='missing.csv", "cross_entropy", "data.y" },
    { "copy", "cross_entropy", "data.y" },    { "copy", "mse_loss", "data.y" },
    { "dates", "cross_entropy", NULL },       { "random", "mse_loss", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf ("<graph xmlns='urn:gradloom:graph' version='1'>"
                                               "<node id='data' op='dataset' source='%s'/>"
                                               "<node id='fc' op='linear' out_features='4'/>"
                                               "<wire from='data.x' to='fc'/></graph>",
                                               cases[i].source);
      g_autofree char *target = g_strdup_printf ("%s.target", cases[i].loss);
      g_autoptr (StudioDocument) document = document_load (text);
      StudioAddPlace place = place_of (document, STUDIO_ADD_AFTER, "fc");

      g_test_message ("%s after %s", cases[i].loss, cases[i].source);
      g_assert_cmpuint (studio_document_add (document, cases[i].loss, FALSE, NULL, &place, NULL), !=, 0);
      g_assert_cmpint (has_wire (document, "data.y", target), ==, cases[i].from != NULL);
      g_assert_false (has_wire (document, "data.x", target));
    }
}

/* Layer and values are one step. */
static void
test_typed_added (void)
{
  static const char *const parameters[] = { "out_features", "7", "bias", "false", NULL };
  g_autoptr (StudioDocument) document = document_load (chain);
  StudioAddPlace place = place_of (document, STUDIO_ADD_AFTER, "fc");
  guint64 serial = studio_document_add (document, "linear", FALSE, parameters, &place, NULL);
  LoomElement *node = loom_graph_by_serial (studio_document_get_graph (document), serial);

  g_assert_cmpstr (loom_element_get (node, "out_features"), ==, "7");
  g_assert_cmpstr (loom_element_get (node, "bias"), ==, "false");
  g_assert_true (studio_document_undo (document));
  g_assert_null (studio_document_undo_name (document));
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

/* All operators at once, as when the search opens; drawing the first wire backwards costs more. */
static void
test_speed (void)
{
  LoomType type = type_of (LOOM_F32, "B,10");
  g_autoptr (LoomElement) loss = loom_fit_fresh_node (loom_op ("cross_entropy"), "loss");
  const LoomType *input[2] = { &type, NULL };

  for (guint round = 0; round < 3; round++)
    {
      gint64 start = g_get_monotonic_time (), half;
      guint n = 0;

      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        n += loom_fit_after (*op, &type, NULL) > LOOM_FIT_NOT;
      half = g_get_monotonic_time ();
      for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
        n += loom_fit_before (*op, loss, input, 2, 1) > LOOM_FIT_NOT;
      g_test_message ("%u fits: after %.1f ms, before %.1f ms", n, (half - start) / 1e3,
                      (g_get_monotonic_time () - half) / 1e3);
      g_assert_cmpuint (n, >, 100);
    }
}

/* A card that is dropped on a wire over its neighbour goes into the row, which moves on; one step back undoes both. */
static void
test_dropped (void)
{
  static const char row[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"
                            "  <node id=\"x\" op=\"input\" shape=\"B,8\"/>\n"
                            "  <node id=\"fc\" op=\"linear\" out_features=\"4\"/>\n"
                            "  <node id=\"end\" op=\"linear\" out_features=\"2\"/>\n"
                            "  <node id=\"loose\" op=\"flatten\"/>\n"
                            "  <wire from=\"x\" to=\"fc\"/>\n"
                            "  <wire from=\"fc\" to=\"end\"/>\n"
                            "  <layout>\n"
                            "    <place node=\"x\" x=\"24\" y=\"24\"/>\n"
                            "    <place node=\"fc\" x=\"240\" y=\"24\"/>\n"
                            "    <place node=\"end\" x=\"456\" y=\"24\"/>\n"
                            "    <place node=\"loose\" x=\"240\" y=\"300\"/>\n"
                            "  </layout>\n"
                            "</graph>\n";
  g_autoptr (StudioDocument) document = document_load (row);
  g_autofree char *before = document_text (document), *after = NULL;
  StudioScene *scene;
  guint64 loose = document_serial (document, "loose");

  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  g_assert_true (studio_document_insert_in_wire (document, loose, scene->link[0].serial, -20, -276));
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_links, ==, 3);
  g_assert_cmpfloat (scene->item[studio_scene_find (scene, loose)].x, ==, 240);
  g_assert_cmpfloat (scene->item[studio_scene_find (scene, loose)].y, ==, 24);
  g_assert_cmpfloat (scene->item[studio_scene_find_id (scene, "x")].x, ==, 24);
  g_assert_cmpfloat (scene->item[studio_scene_find_id (scene, "fc")].x, ==, 456);
  g_assert_cmpfloat (scene->item[studio_scene_find_id (scene, "end")].x, ==, 672);
  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (before, ==, after);
}

/* ---- from the library --------------------------------------------------------- */

static const char block[]
    = "<graph xmlns='urn:gradloom:graph' version='1'><module name='block'>"
      "<node id='x' op='module_input'/><node id='act' op='relu'/>"
      "<node id='y' op='module_output'/><wire from='x' to='act'/><wire from='act' to='y'/></module>"
      "<node id='block' module='block'/></graph>";

/* Of the same name, and another module. */
static const char other_block[] = "<graph xmlns='urn:gradloom:graph' version='1'><module name='block'>"
                                  "<node id='x' op='module_input'/><node id='y' op='module_output'/>"
                                  "<wire from='x' to='y'/></module><node id='block' module='block'/></graph>";

static void
count_cb (StudioLibrary *library, guint *n)
{
  (*n)++;
}

/* A module of the library is added like an operator, its definition comes along once, and all is one step. */
static void
test_library (void)
{
  g_autoptr (StudioDocument) from = document_load (block), document = document_load (chain),
                             taken = document_load (other_block);
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *before = document_text (document), *taken_before = document_text (taken), *path = NULL, *said = NULL;
  StudioAddPlace place;
  StudioScene *scene, *ghost;
  StudioSearchKey *key;
  const StudioLibraryEntry *entry = NULL;
  guint n_changes = 0;
  guint64 serial;

  g_signal_connect (studio_library_get_default (), "changed", G_CALLBACK (count_cb), &n_changes);
  path = studio_library_save (from, "block", NULL, &error);
  g_signal_handlers_disconnect_by_data (studio_library_get_default (), &n_changes);
  g_assert_no_error (error);
  g_assert_cmpuint (n_changes, ==, 1);
  entries = studio_library_list (NULL);
  g_assert_cmpuint (entries->len, >, 1); /* and those that the program has */
  for (guint i = 0; i < entries->len; i++)
    if (((const StudioLibraryEntry *)entries->pdata[i])->is_own)
      entry = entries->pdata[i];
  g_assert_nonnull (entry);
  g_assert_cmpstr (entry->reference, ==, "own/block");
  key = studio_search_key_new_text (entry->name, entry->title, entry->doc);
  g_assert_cmpuint (studio_search_rank (key, "bloc"), >, 0);
  studio_search_key_free (key);

  /* In a wire; what a drag shows before changes nothing. */
  scene = studio_document_get_scene (document);
  place = (StudioAddPlace){ .kind = STUDIO_ADD_ON_WIRE, .x = 200, .y = 40, .serial = scene->link[0].serial };
  ghost = studio_document_preview (document, entry->reference, TRUE, &place);
  g_assert_nonnull (ghost);
  g_assert_cmpuint (ghost->item[0].n_inputs, ==, 1);
  studio_scene_free (ghost);
  g_assert_null (studio_document_undo_name (document));
  serial = studio_document_add (document, entry->reference, TRUE, NULL, &place, &said);
  g_assert_cmpuint (serial, !=, 0);
  g_assert_null (said);
  g_assert_cmpuint (document_serial (document, "block"), ==, serial);
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 2);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Insert block");

  /* The second instance shares the definition. */
  place = (StudioAddPlace){ .kind = STUDIO_ADD_AFTER, .serial = document_serial (document, "fc") };
  g_assert_cmpuint (studio_document_add (document, entry->reference, TRUE, NULL, &place, NULL), !=, 0);
  g_assert_cmpuint (studio_document_module_uses (document, "block"), ==, 2);
  g_assert_cmpuint (studio_document_get_scene (document)->n_links, ==, 3);
  g_assert_true (studio_document_undo (document));
  g_assert_true (studio_document_undo (document));
  g_free (g_steal_pointer (&said));
  said = document_text (document);
  g_assert_cmpstr (said, ==, before);
  g_assert_null (studio_document_undo_name (document));

  /* A different module of the same name is unchanged. */
  place = (StudioAddPlace){ .kind = STUDIO_ADD_AT, .x = 400, .y = 400 };
  g_assert_cmpuint (studio_document_add (taken, entry->reference, TRUE, NULL, &place, NULL), !=, 0);
  g_assert_nonnull (loom_graph_find_module (studio_document_get_graph (taken), "block_2"));
  g_assert_cmpuint (studio_document_module_uses (taken, "block"), ==, 1);
  g_assert_true (studio_document_undo (taken));
  g_free (g_steal_pointer (&said));
  said = document_text (taken);
  g_assert_cmpstr (said, ==, taken_before);

  /* It cannot be added inside itself, and the attempt changes nothing. */
  g_free (g_steal_pointer (&said));
  g_clear_pointer (&before, g_free);
  before = document_text (from);
  studio_document_enter (from, document_serial (from, "block"));
  g_assert_cmpuint (studio_document_scope_depth (from), ==, 1);
  g_assert_cmpuint (studio_document_add (from, entry->reference, TRUE, NULL, &place, &said), ==, 0);
  g_assert_nonnull (said);
  g_free (g_steal_pointer (&said));
  said = document_text (from);
  g_assert_cmpstr (said, ==, before);
  g_remove (path);
  g_assert_cmpuint (studio_document_add (document, entry->reference, TRUE, NULL, &place, NULL), ==, 0);
}

TEST_FILE (argc, argv)
{
  g_autofree char *home = g_dir_make_tmp ("gradloom-add-XXXXXX", NULL);

  g_setenv ("XDG_DATA_HOME", home, TRUE); /* before GLib reads it for the first time */
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/add/after", test_after);
  g_test_add_func ("/add/added", test_added);
  g_test_add_func ("/add/between", test_between);
  g_test_add_func ("/add/room", test_room);
  g_test_add_func ("/add/inserted", test_inserted);
  g_test_add_func ("/add/dropped", test_dropped);
  g_test_add_func ("/add/order", test_order);
  g_test_add_func ("/add/typed/split", test_typed_split);
  g_test_add_func ("/add/typed/values", test_typed_values);
  g_test_add_func ("/add/typed/every", test_typed_every);
  g_test_add_func ("/add/typed/added", test_typed_added);
  g_test_add_func ("/add/lone-target", test_lone_target);
  g_test_add_func ("/add/library", test_library);
  g_test_add_func ("/add/never-red", test_never_red);
  g_test_add_func ("/add/speed", test_speed);
  return g_test_run ();
}
