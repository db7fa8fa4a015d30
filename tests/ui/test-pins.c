/* Every kind of pin in the table: it draws values of any rank on screen and into files, says what it shows, and finds
 * its cells again; which kind a tensor gets; principal components; what a value says of its origin. */
#include <adwaita.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "gradloom-resources.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "ui/pins/pin-components.h"
#include "ui/pins/pin-paint.h"
#include "ui/pins/pin-tokens.h"
#include "ui/scene/studio-tensors.h"
#include "ui/pins/pin.h"
#include "ui/pins/studio-pin-view.h"

#define MAX_VALUES 20000

static PinValue *
value_of (gint64 step, gsize rank, const gint64 *dims)
{
  static float values[MAX_VALUES];
  static const char *const names[] = { "sample", "channel", "row", "column" };
  PinValue *value = pin_value_new ("block.1.conv", "channel 2 of 3", "step 840", step);
  gsize n = 1;

  for (gsize i = 0; i < rank; i++)
    n *= (gsize)dims[i];
  g_assert_cmpuint (n, <=, MAX_VALUES);
  for (gsize i = 0; i < n; i++)
    values[i] = (float)i - (float)n / 3;
  g_assert_true (pin_value_set (value, rank, dims, values, n));
  value->full_rank = rank;
  for (gsize d = 0; d < rank; d++)
    {
      value->full[d] = dims[d];
      value->axis[d] = names[d % G_N_ELEMENTS (names)];
    }
  return value;
}

/* Large text is reduced to type of 10 px before it is cut; text that fits, and small text, stays. */
static void
test_large_text (void)
{
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  PinDrawing d = { .context = context, .scale = 2 };
  double width;

  pin_text_size (&d, "−0.312", 1, &width, NULL);
  g_assert_cmpfloat (pin_text_scale (&d, "−0.312", 1, width), ==, 1);
  g_assert_cmpfloat_with_epsilon (pin_text_scale (&d, "−0.312", 1, 0.6 * width), 0.6, 0.07);
  g_assert_cmpfloat_with_epsilon (pin_text_scale (&d, "−0.312", 1, 0.1 * width), 10 / 22., 1e-9);
  d.scale = 0.5;
  g_assert_cmpfloat (pin_text_scale (&d, "−0.312", 1, 1), ==, 1);
  g_object_unref (context);
}

/* ---- every kind ------------------------------------------------------------------- */

/* Draws onto an image of this size and returns the number of pixels that differ from the background. */
static guint
draw (const StudioPinKind *kind, PinValue *value, const PinHistory *history, int width, int height)
{
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, width, height);
  cairo_t *cr = cairo_create (image);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  PinDrawing d = { .value = value,
                   .history = history,
                   .cr = cr,
                   .context = context,
                   .scale = 1,
                   .cell = -1,
                   .room = { 4, 4, width - 8, height - 8 } };
  guint n = 0;

  kind->draw (&d);
  g_assert_cmpint (cairo_status (cr), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_flush (image);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      n += ((guint32 *)(void *)(cairo_image_surface_get_data (image) + y * cairo_image_surface_get_stride (image)))[x]
           != 0;
  /* A cell is found where its rectangle is, unless another kind of place stands for it (a line between two words). */
  for (gsize cell = 0; cell < studio_pin_n_cells (kind, &d); cell += 1 + studio_pin_n_cells (kind, &d) / 40)
    {
      g_autofree char *words = studio_pin_describe_cell (kind, &d, cell);
      PinRect at;

      g_assert_cmpuint (strlen (words), >, 0);
      if (value->rank > MAX (2, kind->n_whole) || kind->cell_rect == NULL || !kind->cell_rect (&d, cell, &at)
          || at.width < 1 || at.height < 1)
        continue;
      g_assert_cmpfloat (at.x, >=, -5);
      g_assert_cmpfloat (at.x + at.width, <=, width + 5);
      if (kind->n_whole >= MAX (2, value->rank) && kind->has_colors && !kind->chooses_tile)
        g_assert_cmpint (kind->cell_at (&d, at.x + at.width / 2, at.y + at.height / 2), ==, (gint64)cell);
    }
  g_autofree char *words = studio_pin_describe (kind, &d);
  g_assert_cmpuint (strlen (words), >, 0);
  g_object_unref (context);
  cairo_destroy (cr);
  cairo_surface_destroy (image);
  return n;
}

static const struct
{
  gsize rank;
  gint64 dims[4];
} shapes[] = { { 0, { 0 } },       { 1, { 7 } },         { 2, { 3, 4 } },
               { 2, { 1, 1 } },    { 2, { 6, 784 } },    { 2, { 1, MAX_VALUES } },
               { 3, { 4, 6, 6 } }, { 4, { 2, 3, 5, 5 } } };

static void
test_every_kind (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);

      g_test_message ("%s", kind->name);
      g_assert_true (g_hash_table_add (names, (gpointer)kind->name));
      g_assert_true (studio_pin_kind_find (kind->name) == kind);
      g_assert_cmpint (kind->height, >=, 40);
      g_assert_cmpint (kind->width, >=, 100);
      g_assert_cmpuint (strlen (kind->title), >, 0);
      g_assert_cmpuint (kind->n_whole, >=, 1);
      for (guint k = 0; k < G_N_ELEMENTS (shapes); k++)
        {
          PinHistory *history = pin_history_new ();
          g_autoptr (PinValue) value = value_of (1, shapes[k].rank, shapes[k].dims);
          g_autoptr (PinValue) later = value_of (5, shapes[k].rank, shapes[k].dims);

          pin_history_add (history, value);
          pin_history_add (history, later);
          g_assert_cmpuint (draw (kind, value, history, 176, 176), >, 0);
          g_assert_cmpuint (draw (kind, value, history, 900, 500), >, 0);
          draw (kind, value, history, 12, 12);
          for (gsize n = 0; n < value->n_values; n++)
            value->values[n] = n % 2 == 0 ? NAN : INFINITY;
          pin_history_clear (history);
          pin_history_add (history, value);
          draw (kind, value, history, 176, 176);
          pin_history_free (history);
        }
    }
}

static cairo_surface_t *
picture_of (const StudioPinKind *kind, PinValue *value, const PinHistory *history, gboolean after_text)
{
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 300, 200);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  PinDrawing d = { .value = value,
                   .history = history,
                   .cr = cairo_create (image),
                   .context = context,
                   .scale = 1,
                   .cell = -1,
                   .room = { 4, 24, 292, 172 } };

  if (after_text)
    {
      pin_text (&d, " ", 8, 8, 0, 100, 1, 1);
      g_assert_false (cairo_has_current_point (d.cr));
      cairo_move_to (d.cr, 8, 8);
    }
  kind->draw (&d);
  cairo_destroy (d.cr);
  cairo_surface_flush (image);
  g_object_unref (context);
  return image;
}

/* No line goes from the caption, or a text in the picture, to the first thing that is drawn after it. */
static void
test_begins_of_paths (void)
{
  static const gint64 dims[] = { 2, 5, 5 };

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);
      PinHistory *history = pin_history_new ();
      g_autoptr (PinValue) value = value_of (1, 3, dims);
      cairo_surface_t *one, *other;

      g_test_message ("%s", kind->name);
      pin_history_add (history, value);
      one = picture_of (kind, value, history, FALSE);
      other = picture_of (kind, value, history, TRUE);
      g_assert_cmpmem (cairo_image_surface_get_data (one), 200 * (gsize)cairo_image_surface_get_stride (one),
                       cairo_image_surface_get_data (other), 200 * (gsize)cairo_image_surface_get_stride (other));
      cairo_surface_destroy (one);
      cairo_surface_destroy (other);
      pin_history_free (history);
    }
}

/* The widget: words for a screen reader, the cursor, and files of each kind. */
static void
check_view (const StudioPinKind *kind, const char *folder)
{
  static const gint64 dims[] = { 2, 3, 4 };
  static const char *const suffixes[] = { "svg", "png", "csv" };
  StudioPinView *view = g_object_ref_sink (studio_pin_view_new (kind));
  gpointer last = view;
  g_autoptr (GError) error = NULL;

  g_object_add_weak_pointer (G_OBJECT (view), &last);
  g_assert_true (gtk_test_accessible_has_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL));
  g_assert_null (studio_pin_view_get_value (view));
  g_assert_false (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_false (studio_pin_view_export (view, "nothing.svg", &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  studio_pin_view_take (view, value_of (840, 3, dims));
  g_assert_cmpint (studio_pin_view_get_value (view)->step, ==, 840);
  g_assert_cmpstr (studio_pin_view_get_caption (view), ==, "block.1.conv · channel 2 of 3 · step 840");
  gtk_test_accessible_assert_property (view, GTK_ACCESSIBLE_PROPERTY_LABEL, studio_pin_view_get_caption (view));
  /* The surface has cells of the task, which is not there. */
  if (kind->cell_at != NULL && kind->n_cells == NULL)
    {
      g_assert_true (studio_pin_view_move_cursor (view, 1, 0));
      g_assert_nonnull (studio_pin_view_get_cell_words (view));
    }
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    {
      g_autofree char *name = g_strdup_printf ("%s.%s", kind->name, suffixes[i]);
      g_autofree char *path = g_build_filename (folder, name, NULL), *text = NULL;
      gsize length;

      g_clear_error (&error);
      g_assert_true (studio_pin_view_export (view, path, &error));
      g_assert_true (g_file_get_contents (path, &text, &length, NULL));
      g_assert_cmpuint (length, >, 10);
      g_remove (path);
    }
  studio_pin_view_clear (view, "block.1.conv", "No such port.");
  g_assert_null (studio_pin_view_get_value (view));
  g_object_unref (view);
  g_assert_null (last);
}

static void
test_views (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-pins-XXXXXX", NULL);

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    check_view (studio_pin_kind (i), folder);
  remove_tree (folder);
}

static int
height_of (StudioPinView *view, double text_scale)
{
  int height;

  studio_pin_view_set_text_scale (view, text_scale);
  gtk_widget_measure (GTK_WIDGET (view), GTK_ORIENTATION_VERTICAL, 162, NULL, &height, NULL, NULL);
  return height;
}

/* With large text a pin is higher by the lines of text in it, so that its picture stays as it is; the caption of a low
 * one has two lines if it does not fit into one. */
static void
test_height (void)
{
  static const gint64 dims[] = { 2, 3, 4 };

  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);
      StudioPinView *view = g_object_ref_sink (studio_pin_view_new (kind));

      studio_pin_view_set_size (view, 176, 120);
      g_assert_cmpint (height_of (view, 2) - height_of (view, 1), ==, (int)(2 * 15 + 13 * kind->lines));
      studio_pin_view_set_size (view, 176, 90);
      studio_pin_view_take (view, value_of (840, 3, dims));
      g_assert_cmpint (height_of (view, 2) - height_of (view, 1), ==, (int)(3 * 15 + 13 * kind->lines));
      g_object_unref (view);
    }
}

/* Earlier steps belong to the kind that remembered them. */
static void
test_change_of_kind (void)
{
  StudioPinView *view = g_object_ref_sink (studio_pin_view_new (studio_pin_kind_find ("scalar")));

  for (gint64 step = 1; step <= 9; step++)
    studio_pin_view_take (view, value_of (step, 0, NULL));
  for (int i = 0; i < 9; i++)
    g_assert_true (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_false (studio_pin_view_move_cursor (view, 1, 0));
  g_assert_nonnull (strstr (studio_pin_view_get_cell_words (view), "step 9"));
  studio_pin_view_set_kind (view, studio_pin_kind_find ("heatmap"));
  g_assert_null (studio_pin_view_get_value (view));
  g_assert_null (studio_pin_view_get_cell_words (view));
  g_object_unref (view);
}

/* The pointer stays at a place, where the next value has another cell: that of the chosen head. */
static void
test_pointer_stays (void)
{
  static const gint64 dims[] = { 2, 5, 5 };
  StudioPinView *view = studio_pin_view_new (studio_pin_kind_find ("attention"));
  GtkWidget *window = gtk_window_new ();
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (view));
  PinValue *other = value_of (841, 3, dims);

  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (view));
  gtk_window_present (GTK_WINDOW (window));
  while (gtk_widget_get_width (GTK_WIDGET (view)) < 200)
    g_main_context_iteration (NULL, TRUE);
  studio_pin_view_take (view, value_of (840, 3, dims));
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GtkEventController) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_EVENT_CONTROLLER_MOTION (controller))
        g_signal_emit_by_name (controller, "motion", 120., 170.);
    }
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 1, "));
  other->index[0] = 1;
  studio_pin_view_take (view, other);
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 2, "));
  /* A cell that keys have chosen stays. */
  g_assert_true (studio_pin_view_move_cursor (view, -1, 0));
  studio_pin_view_take (view, value_of (842, 3, dims));
  g_assert_true (g_str_has_prefix (studio_pin_view_get_cell_words (view), "sample 2, "));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ---- which kind ------------------------------------------------------------------------ */

static void
test_choice (void)
{
  static const struct
  {
    const char *first;
    PinSubject subject;
  } cases[] = {
    { "scalar", { .is_typed = TRUE } },
    { "scalar", { .is_typed = TRUE, .rank = 2, .dims = { 1, 1 }, .is_weight = TRUE } },
    { "heatmap", { .is_typed = FALSE } },
    { "heatmap", { .is_typed = TRUE, .rank = 1, .dims = { 0 }, .n_loops = 1 } },
    { "montage", { .is_typed = TRUE, .rank = 4, .dims = { 0, 16, 8, 8 } } },
    { "kernels", { .is_typed = TRUE, .rank = 4, .dims = { 16, 6, 5, 5 }, .is_weight = TRUE } },
    { "kernels", { .is_typed = TRUE, .rank = 4, .dims = { 16, 6, 5, 5 }, .is_weight = TRUE, .is_update = TRUE } },
    { "weights", { .is_typed = TRUE, .rank = 2, .dims = { 10, 784 }, .is_weight = TRUE } },
    { "attention", { .is_typed = TRUE, .rank = 4, .dims = { 0, 4, 9, 9 }, .is_attention = TRUE } },
    { "bars", { .is_typed = TRUE, .rank = 2, .dims = { 0, 10 }, .is_prediction = TRUE } },
    { "surface", { .is_typed = TRUE, .rank = 2, .dims = { 0, 3 }, .is_prediction = FALSE, .has_plane = FALSE } },
    { "text", { .is_typed = TRUE, .rank = 2, .dims = { 0, 12 }, .is_integer = TRUE } },
    { "components", { .is_typed = TRUE, .rank = 2, .dims = { 65, 64 }, .is_weight = TRUE, .is_embedding = TRUE } },
    { "histogram", { .is_typed = TRUE, .rank = 2, .dims = { 10, 20 }, .is_weight = TRUE } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) kinds = studio_pin_kinds_for (&cases[i].subject);
      const StudioPinKind *best = kinds->pdata[0];

      /* A surface needs a prediction over a plane. */
      if (g_str_equal (cases[i].first, "surface"))
        g_assert_cmpstr (best->name, !=, "surface");
      else
        g_assert_cmpstr (best->name, ==, cases[i].first);
      for (guint k = 1; k < kinds->len; k++)
        g_assert_cmpint (((const StudioPinKind *)kinds->pdata[k - 1])->fits (&cases[i].subject), >=,
                         ((const StudioPinKind *)kinds->pdata[k])->fits (&cases[i].subject));
    }
  g_assert_cmpstr (studio_pin_kind_find ("from a later version")->name, ==, "heatmap");
  g_assert_cmpstr (studio_pin_kind_find (NULL)->name, ==, "heatmap");
}

#define LENET                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\"/>"            \
  "<node id=\"x\" op=\"input\" shape=\"B,1,28,28\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"6\" "               \
  "kernel_size=\"5\"/><node id=\"h\" op=\"linear\" out_features=\"3\"/><node id=\"l\" op=\"cross_entropy\"/>"          \
  "<wire from=\"x\" to=\"conv\"/><wire from=\"data.x\" to=\"h\"/><wire from=\"h\" to=\"l.input\"/>"                    \
  "<wire from=\"data.y\" to=\"l.target\"/></graph>"

/* Names of axes and tensors of a graph. */
static void
test_subject (void)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (LENET, strlen (LENET), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_auto (GStrv) tensors = studio_tensors_of_node (net, "conv");
  g_autofree char *all = g_strjoinv (" ", tensors), *title = pin_tensor_title ("update:conv.weight");
  g_autofree char *node = pin_tensor_node (net, "grad:conv.weight");
  PinSubject s;

  g_assert_cmpstr (all, ==, "conv conv.weight conv.bias");
  g_assert_cmpstr (title, ==, "update of conv.weight");
  g_assert_cmpstr (node, ==, "conv");
  pin_subject_init (&s, net, "conv");
  g_assert_cmpuint (s.rank, ==, 4);
  g_assert_cmpstr (pin_subject_axis (&s, 0), ==, "sample");
  g_assert_cmpstr (pin_subject_axis (&s, 1), ==, "channel");
  g_assert_cmpstr (pin_subject_axis (&s, 3), ==, "column");
  pin_subject_init (&s, net, "update:conv.weight");
  g_assert_true (s.is_weight && s.is_update && !s.is_gradient);
  g_assert_cmpint (s.dims[0], ==, 6);
  g_assert_cmpstr (pin_subject_axis (&s, 0), ==, "filter");
  pin_subject_init (&s, net, "h");
  g_assert_true (s.is_prediction);
  pin_subject_init (&s, net, "grad:conv");
  g_assert_true (s.is_gradient && !s.is_weight && !s.is_prediction);
  pin_subject_init (&s, net, "nothing");
  g_assert_false (s.is_typed);
}

/* Axes of tokens are found from the graph: both of attention, one of an embedding's output, and none of a weight's. */
static void
test_tokens (void)
{
  static const char *const text
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"text\" "
        "path=\"/usr/share/common-licenses/GPL-3\" context=\"8\"/><node id=\"letters\" op=\"embedding\" "
        "num_embeddings=\"80\" embedding_dim=\"8\"/><node id=\"attn\" op=\"multihead_attention\" num_heads=\"2\" "
        "batch_first=\"true\"/><wire from=\"data.x\" to=\"letters\"/><wire from=\"letters\" "
        "to=\"attn.query\"/></graph>";
  static const struct
  {
    const char *tensor, *rows, *columns;
  } cases[] = { { "attn.weights", "data.x", "data.x" },
                { "grad:attn.weights", "data.x", "data.x" },
                { "letters", "data.x", NULL },
                { "attn", "data.x", NULL },
                { "across", NULL, NULL },
                { "letters.weight", NULL, NULL },
                { "nothing", NULL, NULL } };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), "test", faults, NULL);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *rows = NULL, *columns = NULL;
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      columns = pin_tokens_port (net, cases[i].tensor, &s, 0);
      g_assert_cmpstr (rows, ==, cases[i].rows);
      g_assert_cmpstr (columns, ==, cases[i].columns);
      if (rows == NULL)
        continue;
      /* Another number of rows than tokens. */
      s.dims[s.rank - 2] = 5;
      g_free (rows);
      rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      g_assert_null (rows);
    }
}

/* For pins of attention, ports that are found from the graph are those that the examples name: also for attention that
 * is computed with operators, out of a scan, and inside it, where each iteration has one row. */
static void
test_example_tokens (void)
{
  static const struct
  {
    const char *file, *tensor, *rows, *columns;
  } cases[] = { { "models/dates-attention.xml", "decoder.weights", "data.y", "data.x" },
                { "models/french-attention.xml", "grad:decoder.weights", "data.y", "data.x" },
                { "models/french-attention.xml", "decoder.attention.shares", NULL, "data.x" },
                { "models/dates-transformer.xml", "decoder2.multihead_attn.weights", "data.y", "data.x" },
                { "models/char-gpt.xml", "blocks.0.attn.weights", "data.x", "data.x" },
                { "lessons/transformer-block.xml", "attention.weights", "data.x", "data.x" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", cases[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      g_assert_true (s.is_attention);
      g_assert_cmpstr (pin_subject_axis (&s, s.rank - 1), ==, "source");
      g_assert_cmpstr (pin_subject_axis (&s, s.rank - 2), ==, "target");
      g_autofree char *rows = pin_tokens_port (net, cases[i].tensor, &s, 1);
      g_autofree char *columns = pin_tokens_port (net, cases[i].tensor, &s, 0);
      g_assert_cmpstr (rows, ==, cases[i].rows);
      g_assert_cmpstr (columns, ==, cases[i].columns);
    }
}

/* A softmax whose result mixes nothing is no attention. */
static void
test_no_attention (void)
{
  static const struct
  {
    const char *file, *tensor;
  } cases[] = { { "lessons/next-token.xml", "p" }, { "models/dates-attention.xml", "decoder.y" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", cases[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      PinSubject s;

      pin_subject_init (&s, net, cases[i].tensor);
      g_assert_true (s.is_typed && !s.is_attention);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A file of points has those that are drawn, not the columns that they were computed from; one of bins names them. */
static void
test_csv_of_points (void)
{
  static const gint64 dims[] = { 4, 3 };
  g_autoptr (PinValue) value = value_of (1, 2, dims);
  g_autofree double *point = pin_components_compute (value->values, 4, 3);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  const PinDrawing d = { .value = value, .context = context, .scale = 1, .cell = -1, .room = { 0, 0, 200, 200 } };
  g_autofree char *text = studio_pin_kind_find ("components")->to_csv (&d);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  PinHistory *history = pin_history_new ();

  g_object_unref (context);
  g_assert_cmpstr (lines[0], ==, "sample,x,y");
  g_assert_cmpuint (g_strv_length (lines), ==, 6);
  for (guint i = 0; i < 4; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i + 1], ",", -1);

      g_assert_cmpuint (g_strv_length (fields), ==, 3);
      g_assert_cmpint (atoi (fields[0]), ==, (int)i + 1);
      g_assert_cmpfloat_with_epsilon (g_ascii_strtod (fields[1], NULL), point[2 * i], 1e-7);
      g_assert_cmpfloat_with_epsilon (g_ascii_strtod (fields[2], NULL), point[2 * i + 1], 1e-7);
    }
  pin_history_add (history, value);
  g_autofree char *bins = pin_history_to_csv (history, studio_pin_kind_find ("histogram")->columns);
  g_assert_true (g_str_has_prefix (bins, "step,least,greatest,bin 1,bin 2,"));
  pin_history_free (history);
}

/* A reduced value names the range of elements that a cell is the mean of, and a chosen row its place. */
static void
test_origin (void)
{
  static const gint64 dims[] = { 2, 3 };
  g_autoptr (PinValue) value = value_of (3, 2, dims);

  value->full_rank = 4;
  memcpy (value->full, ((const gint64[]){ 8, 16, 4, 3 }), 4 * sizeof (gint64));
  memcpy (value->index, ((const gint64[]){ 1, 5, 0, 0 }), 4 * sizeof (gint64));
  g_autofree char *mean = pin_value_origin (value, 4);
  g_assert_cmpstr (mean, ==, "block.1.conv[1, 5, 2–3, 1]");
  g_assert_cmpint (pin_value_element (value, 4), ==, ((1 * 16 + 5) * 4 + 2) * 3 + 1);
  value->index[2] = 3;
  pin_value_choose_row (value);
  g_assert_cmpuint (value->n_values, ==, 3);
  g_assert_cmpfloat (value->values[0], ==, 3 - 2);
  g_autofree char *one = pin_value_origin (value, 2);
  g_assert_cmpstr (one, ==, "block.1.conv[1, 5, 3, 2]");
  g_assert_cmpint (pin_value_element (value, 2), ==, ((1 * 16 + 5) * 4 + 3) * 3 + 2);
}

static void
test_csv (void)
{
  static const gint64 dims[] = { 2, 2 }, deep[] = { 2, 1, 2 };
  g_autoptr (PinValue) value = value_of (3, 2, dims), more = value_of (3, 3, deep);

  value->row_labels = g_strdupv ((char *[]){ (char *)"=1", (char *)"b", NULL });
  value->column_labels = g_strdupv ((char *[]){ (char *)"x,y", (char *)"z", NULL });
  value->values[3] = 0.1f;
  g_autofree char *text = pin_value_to_csv (value), *tiles = pin_value_to_csv (more);
  g_assert_true (g_str_has_prefix (text, ",\"x,y\",z\n"));
  g_assert_null (strstr (text, "\n=1"));
  g_assert_nonnull (strstr (text, "0.100000001\n"));
  g_assert_true (g_str_has_prefix (tiles, "0,0,"));
  g_assert_nonnull (strstr (tiles, "\n1,0,"));
}

/* Thinned evenly; a step again replaces itself; an earlier step begins again. */
static void
test_history (void)
{
  PinHistory *history = pin_history_new ();

  for (gint64 step = 1; step <= 3000; step++)
    {
      g_autoptr (PinValue) value = value_of (step, 0, NULL);
      value->values[0] = (float)step;
      pin_history_add (history, value);
      pin_history_add (history, value);
    }
  g_assert_cmpuint (history->step->len, <=, PIN_HISTORY);
  g_assert_cmpint (pin_history_step (history, 0), ==, 1);
  g_assert_cmpint (pin_history_step (history, history->step->len - 1), ==, 3000);
  for (gsize i = 0; i < history->step->len; i++)
    g_assert_cmpfloat (pin_history_get (history, i)[0], ==, pin_history_step (history, i));
  g_autoptr (PinValue) earlier = value_of (7, 0, NULL);
  pin_history_add (history, earlier);
  g_assert_cmpuint (history->step->len, ==, 1);
  pin_history_free (history);
}

/* ---- colours ------------------------------------------------------------------------- */

/* The colour at the middle of a cell. */
static guint32
color_of (PinValue *value, PinScale colors, gsize cell)
{
  const StudioPinKind *kind = studio_pin_kind_find ("heatmap");
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, 300, 200);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  PinDrawing d = { .value = value,
                   .colors = colors,
                   .cr = cairo_create (image),
                   .context = context,
                   .scale = 1,
                   .cell = -1,
                   .room = { 0, 0, 300, 200 } };
  PinRect at;

  kind->draw (&d);
  cairo_surface_flush (image);
  g_assert_true (kind->cell_rect (&d, cell, &at));
  const guint8 *row
      = cairo_image_surface_get_data (image) + (int)(at.y + at.height / 2) * cairo_image_surface_get_stride (image);
  const guint32 color = ((const guint32 *)(const void *)row)[(int)(at.x + at.width / 2)] & 0xffffff;
  cairo_destroy (d.cr);
  cairo_surface_destroy (image);
  g_object_unref (context);
  return color;
}

/* The second row is a thousandth of the first: without colours of its own, or logarithmic ones, it is all the same. */
static void
test_colors (void)
{
  static const gint64 dims[] = { 2, 3 };
  static const float values[] = { 0, 500, 1000, 0, 0.5, 1 };
  g_autoptr (PinValue) value = value_of (1, 2, dims);
  const guint32 none = color_of (value, PIN_SCALE_LINEAR, 0);

  g_assert_true (pin_value_set (value, 2, dims, values, 6));
  g_assert_cmphex (color_of (value, PIN_SCALE_LINEAR, 5), ==, color_of (value, PIN_SCALE_LINEAR, 3));
  g_assert_cmphex (color_of (value, PIN_SCALE_LOG, 5), !=, color_of (value, PIN_SCALE_LOG, 3));
  for (gsize column = 0; column < 3; column++)
    g_assert_cmphex (color_of (value, PIN_SCALE_ROW, 3 + column), ==, color_of (value, PIN_SCALE_ROW, column));
  g_assert_cmphex (color_of (value, PIN_SCALE_ROW, 5), ==, color_of (value, PIN_SCALE_LINEAR, 2));
  g_assert_cmphex (none, !=, 0);
}

/* ---- the surface ------------------------------------------------------------------------ */

/* In a low pin the plot has the height of its captions: they would lie on the points. */
static void
test_low_surface (void)
{
  const StudioPinKind *kind = studio_pin_kind_find ("surface");
  static const float x[] = { -1, -1, 1, -1, -1, 1, 1, 1 }, y[] = { 0, 1, 1, 0 };
  StudioTaskPicture *plane = studio_task_picture_new ();
  StudioTaskData *data = g_new0 (StudioTaskData, 1);
  PangoContext *context = pango_font_map_create_context (pango_cairo_font_map_get_default ());
  g_autoptr (PinValue) value = value_of (1, 0, NULL);

  data->kind = LOOM_TASK_VIEW_PLANE;
  data->classes = TRUE;
  data->n = 4;
  data->x_size = 2;
  data->y_size = data->rank = 1;
  data->dim[0] = 2;
  data->n_classes = 2;
  data->x = g_memdup2 (x, sizeof x);
  data->y = g_memdup2 (y, sizeof y);
  plane->grid = 4;
  studio_task_picture_set_data (plane, data);
  g_autofree float *answer = g_new (float, 2 * (16 + 4));
  for (guint i = 0; i < 2 * (16 + 4); i++)
    answer[i] = 0.5f;
  g_assert_true (studio_task_picture_take (plane, LOOM_ANSWER_PROBABILITIES, (const gint64[]){ 16 + 4, 1, 2 }, answer,
                                           2 * (16 + 4), 1, 1));
  value->plane = plane;
  for (double height = 60; height <= 240; height += 60)
    {
      const PinDrawing d
          = { .value = value, .context = context, .scale = 1, .cell = -1, .room = { 0, 0, 160, height } };
      PinRect first, last;

      g_assert_true (kind->cell_rect (&d, 0, &first) && kind->cell_rect (&d, 15, &last));
      g_test_message ("%g: from %g to %g", height, first.y, last.y + last.height);
      g_assert_cmpfloat (first.y, >=, 0);
      g_assert_cmpfloat (last.y + last.height, <=, height - (height > 150 ? 2 * 11 : 0));
      g_assert_cmpfloat (last.y + last.height - first.y, >=, height / 4);
    }
  value->plane = NULL;
  studio_task_picture_free (plane);
  g_object_unref (context);
}

/* ---- requests -------------------------------------------------------------------------------------- */

#define WATCHED                                                                                                        \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"shapes\" "              \
  "target_type=\"class\" shapes=\"1\" size=\"16\"/><node id=\"conv\" op=\"conv2d\" out_channels=\"4\" "                \
  "kernel_size=\"3\"/><node id=\"flat\" op=\"flatten\"/><node id=\"out\" op=\"linear\" out_features=\"12\"/>"          \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"conv\"/><wire from=\"conv\" to=\"flat\"/>"       \
  "<wire from=\"flat\" to=\"out\"/><wire from=\"out\" to=\"loss.input\"/><wire from=\"data.y\" "                       \
  "to=\"loss.target\"/><train loss=\"loss\" optimizer=\"sgd\" lr=\"0.01\" batch_size=\"8\" epochs=\"2\" "              \
  "seed=\"1\"/><view><pin tensor=\"conv\" kind=\"heatmap\"/></view></graph>"

static void
placed_cb (Pin *pin, gpointer data)
{
}

static void
saved_cb (Pin *pin, const char *suffix, gpointer data)
{
}

/* A worker that waits after its first step. */
static StudioRun *
new_paused_run (StudioDocument *document)
{
  g_autofree char *xml = loom_graph_write (studio_document_get_graph (document), NULL);
  StudioRun *run = studio_run_new ();
  StudioRunOptions options = STUDIO_RUN_OPTIONS_INIT;

  options.paused = TRUE;
  studio_document_mark_run (document);
  studio_run_start (run, xml, NULL, "pins", &options);
  studio_run_step (run);
  while (studio_run_get_state (run) != STUDIO_RUN_PAUSED || studio_run_get_step (run) < 1)
    {
      g_assert_true (studio_run_is_live (run));
      g_main_context_iteration (NULL, TRUE);
    }
  return run;
}

/* Waits for the value of a channel; each value that is shown until then is the one of its own channel. */
static float
wait_for_channel (StudioPinView *view, gint64 channel, const float *known)
{
  for (;;)
    {
      const PinValue *value = studio_pin_view_get_value (view);

      if (known != NULL && value != NULL)
        g_assert_cmpfloat (value->values[0], ==, known[value->index[1]]);
      if (value != NULL && value->index[1] == channel)
        return value->values[0];
      g_main_context_iteration (NULL, TRUE);
    }
}

/* The reply to an earlier choice is not shown as the present one. */
static void
test_late_reply (void)
{
  g_autoptr (StudioDocument) document = document_load (WATCHED);
  g_autoptr (StudioRun) run = new_paused_run (document);
  LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };
  Pin *pin = pin_new (&owner, loom_element_child (view, 0));
  GtkWidget *window = gtk_window_new (), *widget = GTK_WIDGET (pin_get_view (pin));
  const GPid worker = (GPid)g_ascii_strtoll (studio_run_get_worker_pid (run), NULL, 10);
  float known[4];

  gtk_window_set_child (GTK_WINDOW (window), pin_get_frame (pin));
  /* A hidden pin requests nothing: its value comes after the window. */
  pin_pull (pin);
  g_assert_null (studio_pin_view_get_value (pin_get_view (pin)));
  gtk_window_present (GTK_WINDOW (window));
  known[0] = wait_for_channel (pin_get_view (pin), 0, NULL);
  for (gint64 channel = 1; channel < 4; channel++)
    {
      gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, 1);
      known[channel] = wait_for_channel (pin_get_view (pin), channel, NULL);
      g_assert_cmpfloat (known[channel], !=, known[channel - 1]);
    }
  kill (worker, SIGSTOP);
  gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, -1);
  gtk_widget_activate_action (widget, "pin.step", "(ii)", 0, -1);
  kill (worker, SIGCONT);
  wait_for_channel (pin_get_view (pin), 1, known);
  pin_detach (pin);
  gtk_window_destroy (GTK_WINDOW (window));
  pin_unref (pin);
  studio_run_close (run);
  while (studio_worker_n_exiting () > 0)
    g_main_context_iteration (NULL, TRUE);
}

static gboolean
has_label (GMenuModel *menu, const char *label)
{
  for (int i = 0; i < g_menu_model_get_n_items (menu); i++)
    {
      g_autoptr (GMenuLinkIter) links = g_menu_model_iterate_item_links (menu, i);
      g_autofree char *text = NULL;

      if (g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_LABEL, "s", &text) && g_str_equal (text, label))
        return TRUE;
      while (g_menu_link_iter_next (links))
        {
          g_autoptr (GMenuModel) inner = g_menu_link_iter_get_value (links);

          if (has_label (inner, label))
            return TRUE;
        }
    }
  return FALSE;
}

/* Its menu names tensors with all their signs, and sets the colours in the file; tools are apart from the legend. */
static void
test_menu (void)
{
  g_autoptr (StudioDocument) document = document_load (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,8\"/>"
      "<node id=\"to_hidden_size\" op=\"linear\" out_features=\"4\"/><wire from=\"x\" to=\"to_hidden_size\"/>"
      "<view><pin tensor=\"to_hidden_size\" kind=\"heatmap\"/></view></graph>");
  g_autoptr (StudioRun) run = studio_run_new ();
  LoomElement *element = loom_element_child (
      loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW), 0);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };
  Pin *pin = pin_new (&owner, element);
  GtkWidget *window = gtk_window_new (), *frame = pin_get_frame (pin);
  g_autoptr (GPtrArray) buttons = g_ptr_array_new ();

  gtk_window_set_child (GTK_WINDOW (window), frame);
  gtk_window_present (GTK_WINDOW (window));
  find_widgets (frame, GTK_TYPE_MENU_BUTTON, buttons);
  g_assert_cmpuint (buttons->len, ==, 2);
  GtkMenuButton *button = buttons->pdata[1];
  gtk_menu_button_popup (button);
  g_assert_true (has_label (gtk_menu_button_get_menu_model (button), "to__hidden__size"));
  g_assert_true (has_label (gtk_menu_button_get_menu_model (button), "gradient of to__hidden__size.weight"));
  gtk_menu_button_popdown (button);
  g_assert_cmpint (gtk_widget_get_valign (gtk_widget_get_parent (GTK_WIDGET (button))), ==, GTK_ALIGN_START);
  for (guint i = 0; i < PIN_N_SCALES; i++)
    {
      const char *word = pin_scale_word ((PinScale)((i + 1) % PIN_N_SCALES));

      gtk_widget_activate_action (GTK_WIDGET (pin_get_view (pin)), "pin.colors", "s", word);
      g_assert_cmpstr (loom_element_get (element, PIN_COLORS), ==, g_str_equal (word, "linear") ? NULL : word);
      g_assert_cmpint (pin_scale_find (loom_element_get (element, PIN_COLORS)), ==, (i + 1) % PIN_N_SCALES);
    }
  pin_detach (pin);
  gtk_window_destroy (GTK_WINDOW (window));
  pin_unref (pin);
}

/* Values and gradients are of a fixed batch, as the caption says; a weight is of no sample. */
static void
test_fixed_samples (void)
{
  static const struct
  {
    const char *tensor, *kind, *where;
  } cases[] = { { "conv", "heatmap", "channel 1 of 4 · sample 1 of 32 fixed samples" },
                { "out", "heatmap", "of 32 fixed samples" },
                { "loss", "scalar", "of 32 fixed samples" },
                { "grad:out.weight", "heatmap", "of 32 fixed samples" },
                { "out.weight", "heatmap", "" } };
  g_autoptr (StudioDocument) document = document_load (WATCHED);
  g_autoptr (StudioRun) run = new_paused_run (document);
  LoomElement *view = loom_element_find (loom_graph_root (studio_document_get_graph (document)), LOOM_TAG_VIEW);
  const PinOwner owner = { document, run, NULL, placed_cb, saved_cb, NULL };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GtkWidget *window = gtk_window_new ();
      g_autofree char *part = g_strdup_printf (" · %s · step 1", cases[i].where);

      studio_document_begin (document, "Watch");
      studio_document_edit (document, loom_edit_set (loom_element_child (view, 0), "tensor", cases[i].tensor));
      studio_document_edit (document, loom_edit_set (loom_element_child (view, 0), "kind", cases[i].kind));
      studio_document_end (document);
      Pin *pin = pin_new (&owner, loom_element_child (view, 0));
      gtk_window_set_child (GTK_WINDOW (window), pin_get_frame (pin));
      gtk_window_present (GTK_WINDOW (window));
      while (
          studio_pin_view_get_value (pin_get_view (pin)) == NULL
          || (cases[i].where[0] != '\0' && strstr (studio_pin_view_get_caption (pin_get_view (pin)), "fixed") == NULL))
        g_main_context_iteration (NULL, TRUE);
      g_test_message ("%s", studio_pin_view_get_caption (pin_get_view (pin)));
      if (cases[i].where[0] != '\0')
        g_assert_true (g_str_has_suffix (studio_pin_view_get_caption (pin_get_view (pin)), part));
      else
        g_assert_null (strstr (studio_pin_view_get_caption (pin_get_view (pin)), "sample"));
      pin_detach (pin);
      gtk_window_destroy (GTK_WINDOW (window));
      pin_unref (pin);
    }
  studio_run_close (run);
  while (studio_worker_n_exiting () > 0)
    g_main_context_iteration (NULL, TRUE);
}

/* ---- principal components ------------------------------------------------------------------------ */

/* Points in a plane of a space of five dimensions, longer in one direction: the coordinates have the distances of the
 * points, and the first one the larger variance. */
static void
test_components (void)
{
  enum
  {
    N = 40,
    COLUMNS = 5
  };
  static const double u[COLUMNS] = { 0.6, 0, 0.8, 0, 0 }, v[COLUMNS] = { 0, 0.6, 0, 0, -0.8 };
  float values[N * COLUMNS];
  double a[N], b[N], variance[2] = { 0 };

  for (int i = 0; i < N; i++)
    {
      a[i] = 3 * cos (i);
      b[i] = sin (2.3 * i);
      for (int c = 0; c < COLUMNS; c++)
        values[i * COLUMNS + c] = (float)(10 + a[i] * u[c] + b[i] * v[c]);
    }
  g_autofree double *point = pin_components_compute (values, N, COLUMNS);
  g_autofree double *again = pin_components_compute (values, N, COLUMNS);
  g_assert_cmpmem (point, 2 * N * sizeof *point, again, 2 * N * sizeof *again);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      g_assert_cmpfloat_with_epsilon (hypot (point[2 * i] - point[2 * j], point[2 * i + 1] - point[2 * j + 1]),
                                      hypot (a[i] - a[j], b[i] - b[j]), 1e-4);
  for (int i = 0; i < 2 * N; i++)
    variance[i % 2] += point[i] * point[i];
  g_assert_cmpfloat (variance[0], >, 3 * variance[1]);
  values[7] = NAN;
  g_autofree double *holed = pin_components_compute (values, N, COLUMNS);
  g_assert_true (isnan (holed[2]) && isfinite (holed[0]) && isfinite (holed[4]));
}

TEST_FILE (argc, argv)
{
  g_autofree char *worker = g_build_filename (g_getenv ("GRADLOOM_BUILD_ROOT"), "app", "gradloom", NULL);

  g_setenv ("GRADLOOM_WORKER", worker, TRUE);
  g_setenv ("GTK_A11Y", "test", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  g_test_add_func ("/pins/every-kind", test_every_kind);
  g_test_add_func ("/pins/large-text", test_large_text);
  g_test_add_func ("/pins/views", test_views);
  g_test_add_func ("/pins/height", test_height);
  g_test_add_func ("/pins/change-of-kind", test_change_of_kind);
  g_test_add_func ("/pins/choice", test_choice);
  g_test_add_func ("/pins/subject", test_subject);
  g_test_add_func ("/pins/tokens", test_tokens);
  g_test_add_func ("/pins/example-tokens", test_example_tokens);
  g_test_add_func ("/pins/no-attention", test_no_attention);
  g_test_add_func ("/pins/origin", test_origin);
  g_test_add_func ("/pins/csv", test_csv);
  g_test_add_func ("/pins/csv-of-points", test_csv_of_points);
  g_test_add_func ("/pins/begins-of-paths", test_begins_of_paths);
  g_test_add_func ("/pins/history", test_history);
  g_test_add_func ("/pins/late-reply", test_late_reply);
  g_test_add_func ("/pins/pointer-stays", test_pointer_stays);
  g_test_add_func ("/pins/colors", test_colors);
  g_test_add_func ("/pins/low-surface", test_low_surface);
  g_test_add_func ("/pins/menu", test_menu);
  g_test_add_func ("/pins/fixed-samples", test_fixed_samples);
  g_test_add_func ("/pins/components", test_components);
  return g_test_run ();
}
