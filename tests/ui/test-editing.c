/* Commands on several wires and nodes at once, on the document. No display. */
#include <glib/gstdio.h>
#include <string.h>

#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-history.h"
#include "ui/document/studio-library.h"
#include "ui/document/studio-preview.h"
#include "ui/inspector/studio-inspector-params.h"

static void
assert_undone (StudioDocument *document, const char *before)
{
  g_autofree char *after = NULL;

  g_assert_true (studio_document_undo (document));
  after = document_text (document);
  g_assert_cmpstr (after, ==, before);
}

/* "fc>act,x>fc", in the order of the file. */
static char *
wires (StudioDocument *document)
{
  LoomElement *scope = studio_document_get_scope (document);
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *e = loom_element_child (scope, i);

      if (loom_element_tag (e) == LOOM_TAG_WIRE)
        g_string_append_printf (s, "%s%s>%s", s->len > 0 ? " " : "", loom_element_get (e, "from"),
                                loom_element_get (e, "to"));
    }
  return g_string_free (s, FALSE);
}

static void
assert_wires (StudioDocument *document, const char *expected)
{
  g_autofree char *now = wires (document);

  g_assert_cmpstr (now, ==, expected);
}

static void
test_refusal (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  guint64 x = document_serial (document, "x"), fc = document_serial (document, "fc");
  guint64 act = document_serial (document, "act"), conv = document_serial (document, "conv");
  g_autofree char *shape = studio_document_dup_refusal (document, act, "out", conv, "input");
  g_autofree char *circle = studio_document_dup_refusal (document, act, "out", fc, "input");
  g_autofree char *itself = studio_document_dup_refusal (document, act, "out", act, "input");
  g_autofree char *fits = studio_document_dup_refusal (document, x, "out", act, "input");
  g_autofree char *text = document_text (document);

  g_assert_nonnull (shape);
  g_assert_nonnull (strstr (shape, "B × 4"));
  g_assert_true (g_str_has_suffix (shape, "."));
  g_assert_nonnull (strstr (circle, "cycle"));
  g_assert_nonnull (strstr (itself, "itself"));
  g_assert_null (fits);
  g_assert_nonnull (strstr (text, net + strlen (net) - 40)); /* trying out has changed nothing */
}

static void
test_move_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document);
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_move_wires (document, document_serial (document, "fc"), "out",
                                             document_serial (document, "x"), "out", &error));
  g_assert_no_error (error);
  assert_wires (document, "x>fc x>act act>head act>sum.input x>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Move 2 wires to x");
  assert_undone (document, before);
  g_assert_false (studio_document_move_wires (document, document_serial (document, "x"), "out",
                                              document_serial (document, "act"), "out", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE);
  g_assert_null (studio_document_undo_name (document));
  {
    guint64 fc = document_serial (document, "fc"), x = document_serial (document, "x");
    g_autofree char *fits = studio_document_dup_moving_refusal (document, fc, "out", x, "out");
    g_autofree char *circle
        = studio_document_dup_moving_refusal (document, fc, "out", document_serial (document, "head"), "out");
    g_autofree char *unknown
        = studio_document_dup_moving_refusal (document, x, "out", document_serial (document, "conv"), "out");

    /* Both of its readers change at once, so that their shapes agree. */
    g_assert_null (fits);
    g_assert_nonnull (strstr (circle, "cycle"));
    g_assert_null (unknown); /* an output without a type is unknown */
  }
}

static void
test_cut_wires (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document), *cut = NULL;
  StudioScene *scene = studio_document_get_scene (document);
  const guint64 both[] = { scene->link[1].serial, scene->link[3].serial };

  studio_document_cut_wires (document, both, G_N_ELEMENTS (both));
  assert_wires (document, "x>fc act>head fc>sum.other");
  cut = document_text (document);
  g_assert_null (strstr (cut, "<route")); /* no route without its wire */
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Cut 2 wires");
  assert_undone (document, before);
}

static void
test_dissolve (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document);
  guint64 both[2];

  studio_document_select_only (document, document_serial (document, "act"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>fc fc>head fc>sum.input fc>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Dissolve act");
  assert_undone (document, before);
  /* A row of them. */
  both[0] = document_serial (document, "fc");
  both[1] = document_serial (document, "act");
  studio_document_select (document, both, 2);
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>head x>sum.input x>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Dissolve 2 nodes");
  assert_undone (document, before);
  /* Where nothing feeds it, its wires go. */
  studio_document_select_only (document, document_serial (document, "x"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "fc>act act>head act>sum.input fc>sum.other");
  assert_undone (document, before);
}

/* A neighbour that would refuse what came before keeps no wire. */
static void
test_dissolve_refused (void)
{
  g_autoptr (StudioDocument) document
      = document_load (GRAPH ("  <node id=\"x\" op=\"input\" shape=\"B,1,28,28\"/>\n"
                              "  <node id=\"flat\" op=\"flatten\"/>\n"
                              "  <node id=\"y\" op=\"input\" shape=\"B,784\"/>\n"
                              "  <node id=\"act\" op=\"relu\"/>\n"
                              "  <node id=\"sum\" op=\"matmul\"/>\n"
                              "  <node id=\"conv\" op=\"conv2d\" out_channels=\"2\" kernel_size=\"3\"/>\n"
                              "  <node id=\"wide\" op=\"flatten\"/>\n"
                              "  <node id=\"loss\" op=\"mse_loss\"/>\n"
                              "  <wire from=\"x\" to=\"flat\"/>\n"
                              "  <wire from=\"flat\" to=\"act\"/>\n"
                              "  <wire from=\"flat\" to=\"loss.input\"/>\n"
                              "  <wire from=\"y\" to=\"loss.target\"/>\n"));
  g_autofree char *before = document_text (document);

  studio_document_select_only (document, document_serial (document, "flat"));
  studio_document_dissolve_selection (document);
  assert_wires (document, "x>act y>loss.target");
  assert_undone (document, before);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* A graph's computation, apart from names and from the order among equals: each node's operator and type. */
static char *
computed (StudioDocument *document)
{
  LoomNet *inferred = studio_document_get_net (document);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func (g_free);

  for (guint f = 0; f < loom_faults_length (studio_document_get_faults (document)); f++)
    g_test_message ("%s", loom_faults_get (studio_document_get_faults (document), f)->message);
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  for (guint i = 0; i < loom_net_n_nodes (inferred); i++)
    {
      const LoomNetNode *n = loom_net_node (inferred, i);
      g_autofree char *shape = n->n_outputs > 0 ? loom_shape_to_string (&n->output[0].shape) : NULL;

      g_ptr_array_add (nodes, g_strdup_printf ("%s %s", n->op->name, shape));
    }
  g_ptr_array_sort (nodes, compare_texts);
  g_ptr_array_add (nodes, NULL);
  return g_strjoinv (", ", (char **)nodes->pdata);
}

static void
select_ids (StudioDocument *document, const char *const *ids)
{
  studio_document_select_only (document, 0);
  for (guint i = 0; ids[i] != NULL; i++)
    studio_document_set_selected (document, document_serial (document, ids[i]), TRUE);
}

static void
test_group (void)
{
  static const char *const pair[] = { "fc", "act", NULL }, *const around[] = { "x", "head", NULL };
  g_autoptr (StudioDocument) document = document_load (net);
  g_autoptr (GError) error = NULL;
  g_autofree char *before = document_text (document), *text = NULL;
  StudioScene *scene;
  guint i;

  select_ids (document, pair);
  g_assert_true (studio_document_group_selection (document, "pair", &error));
  g_assert_no_error (error);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Group 2 layers into pair");
  /* Two values leave, so the wires name them. */
  assert_wires (document, "pair.act_out>head pair.act_out>sum.input pair.fc_out>sum.other x>pair");
  g_assert_cmpuint (studio_document_n_selected (document), ==, 1);
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  i = studio_scene_find_id (scene, "pair");
  g_assert_cmpuint (studio_document_get_selected (document, 0), ==, scene->item[i].serial);
  g_assert_cmpuint (scene->item[i].n_inputs, ==, 1);
  g_assert_cmpuint (scene->item[i].n_outputs, ==, 2);
  text = document_text (document);
  g_assert_nonnull (strstr (text, "<node id=\"act_out\" op=\"module_output\"/>"));
  g_assert_nonnull (strstr (text, "<route from=\"fc\" to=\"act\" points=\"1,2\"/>"));
  assert_undone (document, before);

  select_ids (document, around);
  g_assert_false (studio_document_group_selection (document, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE);
  g_clear_error (&error);
  studio_document_select_only (document, 0);
  g_assert_false (studio_document_group_selection (document, NULL, &error));
  g_assert_nonnull (error);
}

/* Paths in <train> and <view> follow; what is computed stays. */
static void
test_group_paths (void)
{
  static const char *const tail[] = { "body", "fc", "loss", NULL };
  g_autoptr (StudioDocument) document = document_load (modular);
  g_autofree char *before = document_text (document), *was = computed (document), *now = NULL, *text = NULL;
  g_autofree char *back = NULL;
  g_autoptr (GError) error = NULL;

  select_ids (document, tail);
  g_assert_true (studio_document_group_selection (document, NULL, &error));
  text = document_text (document);
  g_assert_nonnull (strstr (text, "loss=\"block.loss\""));
  g_assert_nonnull (strstr (text, "input=\"block.fc\""));
  g_assert_nonnull (strstr (text, "match=\"block.body.1\""));
  g_assert_nonnull (strstr (text, "tensor=\"block.body.1.act\""));
  now = computed (document);
  g_assert_cmpstr (now, ==, was);
  /* Ungrouping restores the graph except for positions. */
  g_assert_true (studio_document_ungroup_selection (document, &error));
  g_assert_no_error (error);
  back = document_text (document);
  g_assert_nonnull (strstr (back, "loss=\"loss\""));
  g_assert_nonnull (strstr (back, "tensor=\"body.1.act\""));
  g_assert_null (strstr (back, "block"));
  g_assert_true (studio_document_undo (document));
  assert_undone (document, before);
}

/* Inside a module the arguments that formulas name go along. */
static void
test_group_arguments (void)
{
  static const char *const pair[] = { "fc", "act", NULL };
  g_autoptr (StudioDocument) document = document_load (modular);
  g_autofree char *before = document_text (document), *was = computed (document), *now = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (studio_document_enter (document, document_serial (document, "body")));
  select_ids (document, pair);
  g_assert_true (studio_document_group_selection (document, "wide", &error));
  now = computed (document);
  g_assert_cmpstr (now, ==, was);
  text = document_text (document);
  g_assert_nonnull (strstr (text, "<node id=\"wide\" module=\"wide\" width=\"{width}\"/>"));
  g_assert_nonnull (strstr (text, "tensor=\"body.1.wide.act\""));
  g_assert_null (strstr (strstr (text, "<module name=\"wide\">"),
                         "<arg name=\"rate\" type=\"float\" default=\"0.5\"/>\n    <node id=\"x\""));
  /* Neither is a port of the module itself grouped. */
  studio_document_select_only (document, document_serial (document, "in"));
  g_assert_false (studio_document_group_selection (document, NULL, &error));
  g_assert_nonnull (strstr (error->message, "port of the current module"));
  assert_undone (document, before);
}

/* A repeat unrolls into a row, with its arguments filled in. */
static void
test_ungroup_repeat (void)
{
  g_autoptr (StudioDocument) document = document_load (modular);
  g_autofree char *before = document_text (document), *was = computed (document), *now = NULL, *text = NULL;
  g_autoptr (GError) error = NULL;

  studio_document_select_only (document, document_serial (document, "body"));
  g_assert_true (studio_document_ungroup_selection (document, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Ungroup body");
  g_assert_cmpuint (studio_document_n_selected (document), ==, 6);
  text = document_text (document);
  g_assert_null (strstr (text, "<module"));
  g_assert_nonnull (strstr (text, "op=\"linear\" out_features=\"6\" device=\"cpu\""));
  g_assert_nonnull (strstr (text, "tensor=\"act_2\""));
  now = computed (document);
  g_assert_cmpstr (now, ==, was);
  assert_undone (document, before);
  studio_document_select_only (document, document_serial (document, "fc"));
  g_assert_false (studio_document_ungroup_selection (document, &error));
  g_assert_nonnull (error);
}

static void
test_mute (void)
{
  static const char *const pair[] = { "act", "sum", NULL };
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document);
  StudioScene *scene;

  studio_document_select_only (document, 0);
  g_assert_false (studio_document_mute_selection (document));
  select_ids (document, pair);
  g_assert_true (studio_document_mute_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Mute 2 nodes");
  studio_document_get_net (document);
  scene = studio_document_get_scene (document);
  g_assert_true (scene->item[studio_scene_find_id (scene, "act")].muted);
  g_assert_null (scene->item[studio_scene_find_id (scene, "act")].fault);
  g_assert_true (studio_document_mute_selection (document));
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Unmute 2 nodes");
  g_assert_true (studio_document_undo (document));
  assert_undone (document, before);
}

static void
test_swap (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document), *text = NULL;
  guint64 act = document_serial (document, "act"), sum = document_serial (document, "sum");

  g_assert_true (studio_document_can_swap (document, act, loom_op ("gelu")));
  g_assert_false (studio_document_can_swap (document, act, loom_op ("relu")));
  g_assert_false (studio_document_can_swap (document, act, loom_op ("input")));
  g_assert_false (studio_document_can_swap (document, sum, loom_op ("gelu"))); /* two wires, one input */
  g_assert_true (studio_document_can_swap (document, sum, loom_op ("concat")));
  g_assert_true (studio_document_swap (document, act, "gelu"));
  assert_wires (document, "x>fc fc>act.input act>head act>sum.input fc>sum.other");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Swap act for gelu");
  assert_undone (document, before);
  /* Numbers instead of names; parameters that the new one lacks go. */
  g_assert_true (studio_document_swap (document, sum, "concat"));
  assert_wires (document, "x>fc fc>act act>head act>sum.0 fc>sum.1");
  assert_undone (document, before);
  g_assert_true (studio_document_swap (document, document_serial (document, "fc"), "dropout"));
  text = document_text (document);
  g_assert_nonnull (strstr (text, "<node id=\"fc\" op=\"dropout\"/>"));
  assert_undone (document, before);
}

/* Frames and notes go along, and alone as well. */
static void
test_copy_annotations (void)
{
  static const char *const pair[] = { "fc", "act", NULL };
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = NULL, *text = NULL;
  StudioScene *scene;
  guint64 note, frame;

  select_ids (document, pair);
  frame = studio_document_add_frame (document, "Pair", 0, 0);
  note = studio_document_add_note (document, "Look", 0, 0);
  before = document_text (document);
  select_ids (document, pair);
  studio_document_set_selected (document, frame, TRUE);
  studio_document_set_selected (document, note, TRUE);
  studio_document_duplicate (document);
  scene = studio_document_get_scene (document);
  g_assert_cmpuint (scene->n_annotations, ==, 4);
  g_assert_cmpuint (studio_document_n_selected (document), ==, 4);
  /* By the same way as the cards. */
  g_assert_cmpfloat (scene->annotation[1].x - scene->annotation[0].x, ==,
                     scene->item[studio_scene_find_id (scene, "fc_2")].x
                         - scene->item[studio_scene_find_id (scene, "fc")].x);
  assert_undone (document, before);
  studio_document_select_only (document, note);
  text = studio_clipboard_copy (document);
  g_assert_true (studio_clipboard_paste (document, text, 500, 500, NULL));
  g_assert_cmpuint (studio_document_get_scene (document)->n_annotations, ==, 3);
  assert_undone (document, before);
}

static void
test_several (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autofree char *before = document_text (document), *preview = NULL, *wrong = NULL, *nothing = NULL;
  guint64 both[] = { document_serial (document, "fc"), document_serial (document, "head") };

  studio_document_set_attributes (document, both, 2, "out_features", "6");
  studio_document_set_attributes (document, both, 2, "out_features", "64");
  g_assert_cmpstr (studio_document_undo_name (document), ==, "Set out_features of 2 nodes");
  assert_undone (document, before); /* typing is one step */
  preview = studio_document_dup_preview (document, both[0], "out_features", "8");
  g_assert_nonnull (strstr (preview, "Parameters: 46 → 90"));
  g_assert_nonnull (strstr (preview, "fc: B × 4 → B × 8"));
  wrong = studio_document_dup_preview (document, both[0], "out_features", "0");
  g_assert_nonnull (wrong);
  nothing = studio_document_dup_preview (document, both[0], "out_features", "4");
  g_assert_null (nothing);
  g_assert_null (studio_document_undo_name (document));
}

typedef struct
{
  guint n, done;
  char *text;
} Looked;

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  Looked *looked = data;
  char *text;

  looked->n++;
  if (!studio_preview_finish (result, &text))
    return;
  looked->done++;
  g_free (looked->text);
  looked->text = text;
}

/* In a thread the preview is the same, for the graph at the time of the request; a cancelled preview returns nothing.
 */
static void
test_preview (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  guint64 fc = document_serial (document, "fc");
  g_autofree char *at_once = studio_document_dup_preview (document, fc, "out_features", "8");
  Looked looked = { 0 };

  studio_preview_async (document, fc, "out_features", "9", cancelled, looked_cb, &looked);
  g_cancellable_cancel (cancelled);
  studio_preview_async (document, fc, "out_features", "8", NULL, looked_cb, &looked);
  studio_document_set_attribute (document, fc, "out_features", "100");
  g_assert_cmpuint (looked.n, ==, 0);
  while (looked.n < 2)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (looked.done, ==, 1);
  g_assert_cmpstr (looked.text, ==, at_once);
  g_free (looked.text);
}

static void
test_number_drag (void)
{
  const LoomParamSpec integer = { .name = "n", .type = LOOM_PARAM_INT, .def = "3", .minimum = 1, .maximum = 100 };
  const LoomParamSpec real = { .name = "p", .type = LOOM_PARAM_FLOAT, .def = "0.5" };
  const LoomParamSpec text = { .name = "t", .type = LOOM_PARAM_STRING };
  const LoomParamSpec list = { .name = "l", .type = LOOM_PARAM_INTS, .def = "1", .minimum = 1, .maximum = 9 };
  const LoomParamSpec padding = { .name = "pad", .type = LOOM_PARAM_STRING, .def = "0" };
  static const struct
  {
    gboolean is_real, fine;
    const char *text, *expected;
    double dx;
  } cases[] = {
    { FALSE, FALSE, "10", "12", 17 },       { FALSE, TRUE, "10", "10", 17 },      { FALSE, FALSE, "", "4", 8 },
    { FALSE, FALSE, "10", "1", -500 },      { FALSE, FALSE, "64", "68", 8 },      { TRUE, FALSE, "0.5", "0.51", 8 },
    { TRUE, FALSE, "0.001", "0.0012", 16 }, { FALSE, FALSE, "{width}", NULL, 8 },
  };

  static const struct
  {
    gboolean is_list;
    const char *text, *expected;
    double dx;
  } others[] = {
    { TRUE, "", "3", 16 },  { TRUE, "3,2", "4,3", 8 }, { TRUE, "3,2", "1,1", -80 }, { TRUE, "3,x", NULL, 8 },
    { FALSE, "", "2", 16 }, { FALSE, "1", "0", -80 },  { FALSE, "same", NULL, 8 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *now = studio_number_dragged (cases[i].is_real ? &real : &integer, cases[i].text, cases[i].dx,
                                                    cases[i].fine ? STUDIO_DRAG_FINE : STUDIO_DRAG_PLAIN);

      g_assert_cmpstr (now, ==, cases[i].expected);
    }
  g_assert_null (studio_number_dragged (&text, "3", 8, STUDIO_DRAG_PLAIN));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      const LoomParamSpec *spec = others[i].is_list ? &list : &padding;
      g_autofree char *now = studio_number_dragged (spec, others[i].text, others[i].dx, STUDIO_DRAG_PLAIN);

      g_assert_cmpstr (now, ==, others[i].expected);
    }
}

/* A module that was saved from one graph is copied into another, once. */
static void
test_library (void)
{
  g_autoptr (StudioDocument) document = document_load (modular), other = document_load (net);
  g_autofree char *folder = g_dir_make_tmp ("gradloom-library-XXXXXX", NULL), *path = NULL, *before = NULL;
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GError) error = NULL;
  const StudioLibraryEntry *entry = NULL;

  before = document_text (other);
  g_assert_null (studio_library_save (document, "nothing", folder, &error));
  g_clear_error (&error);
  path = studio_library_save (document, "stage", folder, &error);
  g_assert_no_error (error);
  entries = studio_library_list (folder);
  g_assert_cmpuint (entries->len, >, 1); /* and those that the program has */
  for (guint i = 0; i < entries->len; i++)
    if (((const StudioLibraryEntry *)entries->pdata[i])->is_own)
      entry = entries->pdata[i];
  g_assert_nonnull (entry);
  g_assert_cmpstr (entry->name, ==, "stage");
  g_assert_true (entry->is_own);
  g_assert_cmpuint (studio_library_add (other, entry, 0, 0, &error), !=, 0);
  g_assert_cmpstr (studio_document_undo_name (other), ==, "Add stage from the library");
  g_assert_cmpuint (studio_library_add (other, entry, 0, 0, &error), !=, 0);
  g_assert_cmpuint (studio_document_module_uses (other, "stage"), ==, 2);
  g_assert_true (studio_document_undo (other));
  assert_undone (other, before);
  g_remove (path);
  g_rmdir (folder);
}

static const char *
selected_id (StudioDocument *document)
{
  const LoomElement *e
      = studio_document_n_selected (document) == 1
            ? loom_graph_by_serial (studio_document_get_graph (document), studio_document_get_selected (document, 0))
            : NULL;

  return e != NULL ? loom_element_get (e, "id") : NULL;
}

/* Undo keeps the selection, and where its step leaves none it selects what was selected on the other side. */
static void
test_selection (void)
{
  g_autoptr (StudioDocument) document = document_load (net);
  const guint64 fc = document_serial (document, "fc"), act = document_serial (document, "act");

  studio_document_select_only (document, fc);
  g_assert_cmpuint (studio_document_add_node (document, "tanh", 300, 300), !=, 0);
  g_assert_cmpstr (selected_id (document), ==, "tanh");
  g_assert_true (studio_document_undo (document));
  g_assert_cmpstr (selected_id (document), ==, "fc");
  g_assert_true (studio_document_redo (document));
  g_assert_cmpstr (selected_id (document), ==, "fc");
  g_assert_true (studio_document_undo (document));

  /* What comes back is selected again. */
  studio_document_select_only (document, act);
  studio_document_delete_selection (document);
  studio_document_select (document, NULL, 0);
  g_assert_true (studio_document_undo (document));
  g_assert_cmpstr (selected_id (document), ==, "act");

  /* Another selection stays, and so does none where nothing comes back. */
  studio_document_move (document, &act, 1, 12, 0);
  studio_document_select_only (document, fc);
  g_assert_true (studio_document_undo (document));
  g_assert_cmpstr (selected_id (document), ==, "fc");
  studio_document_select_only (document, act);
  studio_document_move (document, &act, 1, 12, 0);
  studio_document_select (document, NULL, 0);
  g_assert_true (studio_document_undo (document));
  g_assert_cmpuint (studio_document_n_selected (document), ==, 0);

  /* Several steps at once; and a step that was folded into another. */
  studio_document_select_only (document, fc);
  const guint n = studio_document_n_steps (document);
  studio_document_add_node (document, "tanh", 300, 300);
  studio_document_add_node (document, "relu", 300, 300);
  studio_document_fold (document, n);
  studio_document_add_node (document, "gelu", 300, 300);
  g_assert_true (studio_document_jump (document, n));
  g_assert_cmpstr (selected_id (document), ==, "fc");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ui/editing/refusal", test_refusal);
  g_test_add_func ("/ui/editing/move-wires", test_move_wires);
  g_test_add_func ("/ui/editing/cut-wires", test_cut_wires);
  g_test_add_func ("/ui/editing/dissolve", test_dissolve);
  g_test_add_func ("/ui/editing/dissolve-refused", test_dissolve_refused);
  g_test_add_func ("/ui/editing/group", test_group);
  g_test_add_func ("/ui/editing/group-paths", test_group_paths);
  g_test_add_func ("/ui/editing/group-arguments", test_group_arguments);
  g_test_add_func ("/ui/editing/ungroup-repeat", test_ungroup_repeat);
  g_test_add_func ("/ui/editing/mute", test_mute);
  g_test_add_func ("/ui/editing/swap", test_swap);
  g_test_add_func ("/ui/editing/copy-annotations", test_copy_annotations);
  g_test_add_func ("/ui/editing/several", test_several);
  g_test_add_func ("/ui/editing/number-drag", test_number_drag);
  g_test_add_func ("/editing/preview", test_preview);
  g_test_add_func ("/ui/editing/library", test_library);
  g_test_add_func ("/ui/editing/selection", test_selection);
  return g_test_run ();
}
