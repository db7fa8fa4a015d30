/* Labels of wires: names of dimensions, line styles of types and their legend, copies between devices. */
#include "ui/drawing/draw-types.h"
#include "ui/drawing/studio-export.h"
#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-routes.h"
#include "ui/scene/studio-shapes.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

typedef struct
{
  LoomGraph *graph;
  LoomNet *net;
  StudioScene *scene;
} Shown;

static void
shown_clear (Shown *shown)
{
  g_clear_pointer (&shown->scene, studio_scene_free);
  g_clear_pointer (&shown->net, loom_net_free);
  g_clear_pointer (&shown->graph, loom_graph_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Shown, shown_clear)

static void
show (Shown *shown, LoomGraph *graph, const char *module, const char *path)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  const LoomElement *scope = module != NULL ? loom_graph_find_module (graph, module) : loom_graph_root (graph);

  shown->graph = graph;
  shown->net = loom_net_new (graph, NULL, faults);
  shown->scene = studio_scene_new (graph, scope, path, shown->net, faults, NULL, NULL);
}

static LoomGraph *
read_example (const char *name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", name, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_file (path, faults, &error);

  g_assert_no_error (error);
  return graph;
}

static LoomGraph *
read_text (const char *body)
{
  g_autofree char *text = g_strdup_printf ("<graph xmlns='urn:gradloom:graph' version='1'>%s</graph>", body);
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  return loom_graph_read_data (text, strlen (text), "tensors", faults, NULL);
}

/* The wire into a card. */
static StudioLink *
link_to (const StudioScene *scene, const char *id)
{
  guint item = studio_scene_find_id (scene, id);

  for (guint i = 0; i < scene->n_links; i++)
    if (scene->link[i].to == item)
      return &scene->link[i];
  g_assert_not_reached ();
}

/* ---- names of dimensions -------------------------------------------------------- */

static void
test_names (void)
{
  g_auto (Shown) shown = { 0 };
  g_auto (Shown) inner = { 0 };

  show (&shown, read_example ("models/fashion-lenet.xml"), NULL, "");
  g_assert_cmpstr (link_to (shown.scene, "block2")->label, ==, "B × 16 × 14 × 14");
  studio_scene_set_shapes (shown.scene, STUDIO_SHAPES_NAMES);
  g_assert_cmpstr (link_to (shown.scene, "block1")->label, ==, "B × C=1 × H=28 × W=28");
  g_assert_cmpstr (link_to (shown.scene, "block2")->label, ==, "B × C=16 × H=14 × W=14");
  /* After flatten nothing is a channel any more. */
  g_assert_cmpstr (link_to (shown.scene, "fc1")->label, ==, "B × 1568");
  studio_scene_set_shapes (shown.scene, STUDIO_SHAPES_NUMBERS);
  g_assert_cmpstr (link_to (shown.scene, "block1")->label, ==, "64 × 1 × 28 × 28");
  show (&inner, read_example ("models/fashion-lenet.xml"), "conv_block", "block2");
  studio_scene_set_shapes (inner.scene, STUDIO_SHAPES_NAMES);
  g_assert_cmpstr (link_to (inner.scene, "conv")->label, ==, "B × C=16 × H=14 × W=14");
  g_assert_cmpstr (link_to (inner.scene, "act")->label, ==, "B × C=32 × H=14 × W=14");
}

/* The input of a convolution is an image; symbols of the graph are names, and products of them are none. */
static void
test_names_backward (void)
{
  g_auto (Shown) shown = { 0 };

  show (&shown,
        read_text ("<node id='x' op='input' shape='B,3,8,8'/><node id='act' op='relu'/>"
                   "<node id='conv' op='conv2d' out_channels='4' kernel_size='3'/>"
                   "<node id='s' op='input' shape='B,T,16'/><node id='fc' op='linear' out_features='4'/>"
                   "<wire from='x' to='act'/><wire from='act' to='conv'/><wire from='s' to='fc'/>"),
        NULL, "");
  studio_scene_set_shapes (shown.scene, STUDIO_SHAPES_NAMES);
  g_assert_cmpstr (link_to (shown.scene, "act")->label, ==, "B × C=3 × H=8 × W=8");
  g_assert_cmpstr (link_to (shown.scene, "conv")->label, ==, "B × C=3 × H=8 × W=8");
  g_assert_cmpstr (link_to (shown.scene, "fc")->label, ==, "B × T × 16");
  /* Without a <train> the batch size is unknown. */
  studio_scene_set_shapes (shown.scene, STUDIO_SHAPES_NUMBERS);
  g_assert_cmpstr (link_to (shown.scene, "fc")->label, ==, "B × T × 16");
}

/* ---- types ------------------------------------------------------------------------ */

/* A wire of a type, drawn black on white: what is left of it without colours. */
static guint
pattern_of (LoomDType dtype)
{
  const StudioColor black = { 0, 0, 0, 1 };
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_A8, 120, 12);
  cairo_t *cr = cairo_create (surface);
  guint hash = 5381, n;

  cairo_move_to (cr, 0, 6);
  cairo_line_to (cr, 120, 6);
  studio_line_apply (studio_dtype_line (dtype), cr, 2);
  studio_color_set (&black, cr);
  if (studio_dtype_line (dtype) == STUDIO_LINE_DOUBLE)
    cairo_set_line_width (cr, 4.4);
  cairo_stroke (cr);
  cairo_surface_flush (surface);
  n = (guint)cairo_image_surface_get_stride (surface) * 12;
  for (guint i = 0; i < n; i++)
    hash = hash * 33 + cairo_image_surface_get_data (surface)[i];
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return hash;
}

static void
test_patterns (void)
{
  for (guint a = 0; a < LOOM_N_DTYPES; a++)
    for (guint b = a + 1; b < LOOM_N_DTYPES; b++)
      g_assert_cmpuint (pattern_of ((LoomDType)a), !=, pattern_of ((LoomDType)b));
}

static double
legend_height (const StudioScene *scene)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 400, 400);
  cairo_t *cr = cairo_create (surface);
  PangoContext *context = studio_export_context_new ();
  StudioTheme theme;
  double height;

  studio_theme_init (&theme, FALSE, FALSE);
  height = studio_draw_types_legend (cr, scene, 12, 380, &theme, context);
  g_object_unref (context);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return height;
}

/* As many rows as there are types, and no more. */
static void
test_legend (void)
{
  g_auto (Shown) one = { 0 };
  g_auto (Shown) two = { 0 };
  g_auto (Shown) none = { 0 };
  double row;

  show (&one, read_text ("<node id='x' op='input' shape='B,3'/><node id='a' op='relu'/><wire from='x' to='a'/>"), NULL,
        "");
  show (&two,
        read_text ("<node id='x' op='input' shape='B,3'/><node id='a' op='cast' dtype='bool'/><wire from='x' to='a'/>"),
        NULL, "");
  show (&none, read_text (""), NULL, "");
  g_assert_cmpfloat (legend_height (none.scene), ==, 0);
  row = legend_height (one.scene) - 8;
  g_assert_cmpfloat (row, >, 0);
  g_assert_cmpfloat (legend_height (two.scene), ==, 2 * row + 8);
}

/* ---- devices ---------------------------------------------------------------------- */

#define ACROSS                                                                                                         \
  "<module name='m'><node id='x' op='module_input'/><node id='fc' op='linear' out_features='6'/>"                      \
  "<node id='y' op='module_output'/><wire from='x' to='fc'/><wire from='fc' to='y'/></module>"                         \
  "<node id='x' op='input' shape='B,100'/><node id='a' op='linear' out_features='50'/>"                                \
  "<node id='b' module='m' device='cuda:0'/><node id='c' op='relu' device='cpu'/><node id='d' op='relu' "              \
  "device='cuda:0'/>"                                                                                                  \
  "<wire from='x' to='a'/><wire from='a' to='b'/><wire from='b' to='c'/><wire from='a' to='d'/>"                       \
  "<train loss='c' batch_size='32'/>"

static void
test_copies (void)
{
  static const char *const here[] = { "cpu", NULL }, *const there[] = { "cpu", "cuda:0", NULL };
  g_auto (Shown) shown = { 0 };
  const StudioScene *scene;

  show (&shown, read_text (ACROSS), NULL, "");
  scene = shown.scene;
  /* Only a card on another device than the run's has a badge. */
  g_assert_null (scene->item[studio_scene_find_id (scene, "a")].badge);
  g_assert_cmpstr (scene->item[studio_scene_find_id (scene, "b")].badge, ==, "cuda:0");
  g_assert_null (scene->item[studio_scene_find_id (scene, "c")].badge);
  g_assert_null (link_to (scene, "a")->copy);
  g_assert_cmpstr (link_to (scene, "b")->copy, ==, "cpu → cuda:0 · 6.4 kB");
  g_assert_cmpstr (link_to (scene, "b")->label, ==, "B × 50\tcpu → cuda:0\t6.4 kB");
  g_assert_nonnull (strstr (link_to (scene, "b")->copy_doc, "32"));
  g_assert_nonnull (strstr (link_to (scene, "b")->copy_doc, "gradient"));
  g_assert_cmpstr (link_to (scene, "c")->copy, ==, "cuda:0 → cpu · 768 B");
  /* The tensor is there already. */
  g_assert_cmpstr (link_to (scene, "d")->copy, ==, "cpu → cuda:0");
  studio_scene_mark_missing_devices (shown.scene, NULL);
  g_assert_false (scene->item[studio_scene_find_id (scene, "b")].is_device_missing);
  studio_scene_mark_missing_devices (shown.scene, here);
  g_assert_true (scene->item[studio_scene_find_id (scene, "b")].is_device_missing);
  g_assert_false (scene->item[studio_scene_find_id (scene, "a")].is_device_missing);
  studio_scene_mark_missing_devices (shown.scene, there);
  g_assert_false (scene->item[studio_scene_find_id (scene, "b")].is_device_missing);
}

/* The card of a module shows devices inside it. */
static void
test_copies_within (void)
{
  g_auto (Shown) shown = { 0 };

  show (&shown, read_text (ACROSS), "m", "b");
  g_assert_cmpstr (shown.scene->item[studio_scene_find_id (shown.scene, "fc")].badge, ==, "cuda:0");
  g_assert_cmpstr (link_to (shown.scene, "fc")->copy, ==, "cpu → cuda:0 · 6.4 kB");
}

static void
test_copy_texts (void)
{
  static const char label[] = "B × 50\tcpu → cuda:0\t6.4 kB";
  g_autofree char *line = studio_shape_label_text (label, STUDIO_SHAPE_LABEL_LINE);
  g_autofree char *two = studio_shape_label_text (label, STUDIO_SHAPE_LABEL_TWO_LINES);
  g_autofree char *column = studio_shape_label_text (label, STUDIO_SHAPE_LABEL_COLUMN);

  g_assert_cmpstr (line, ==, "B × 50 · cpu → cuda:0 · 6.4 kB");
  g_assert_cmpstr (two, ==, "B × 50\ncpu → cuda:0 · 6.4 kB");
  g_assert_cmpstr (column, ==, "B\n50\ncpu →\ncuda:0\n6.4 kB");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensors/names", test_names);
  g_test_add_func ("/tensors/names-backward", test_names_backward);
  g_test_add_func ("/tensors/patterns", test_patterns);
  g_test_add_func ("/tensors/legend", test_legend);
  g_test_add_func ("/tensors/copies", test_copies);
  g_test_add_func ("/tensors/copies-within", test_copies_within);
  g_test_add_func ("/tensors/copy-texts", test_copy_texts);
  return g_test_run ();
}
