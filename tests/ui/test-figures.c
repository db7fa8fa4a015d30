/* Figures on cards: curves, insides of modules, samples. No display. */
#include <glib/gstdio.h>

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "ui/scene/studio-allowed-paths.h"
#include "ui/scene/studio-geometry.h"
#include "tests/test-program.h"

#define HEAD "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">\n"

static LoomGraph *
read_graph (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomGraph *graph = loom_graph_read_data (text, strlen (text), "test", faults, &error);

  g_assert_no_error (error);
  return graph;
}

static StudioScene *
scene_of (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  return studio_scene_new (graph, loom_graph_root (graph), "", net, faults, NULL, NULL);
}

static StudioFigure *
curve_of (const char *op, const char *parameter, const char *value)
{
  g_autoptr (LoomElement) node = loom_element_new (LOOM_TAG_NODE, "id", "f", "op", op, parameter, value, NULL);

  return studio_figure_curve (loom_op (op), node);
}

/* The value at x, interpolated. */
static double
curve_at (const StudioFigure *curve, double x)
{
  for (guint i = 1; i < curve->n_points; i++)
    {
      const StudioFigurePoint *a = &curve->point[i - 1], *b = &curve->point[i];

      if (x <= b->x)
        return a->y + (b->y - a->y) * (x - a->x) / (b->x - a->x);
    }
  return NAN;
}

static void
expect (const char *op, const char *parameter, const char *value, double x, double y)
{
  g_autoptr (StudioFigure) curve = curve_of (op, parameter, value);

  g_assert_nonnull (curve);
  g_assert_cmpint (curve->kind, ==, STUDIO_FIGURE_CURVE);
  g_assert_cmpfloat_with_epsilon (curve_at (curve, x), y, 2e-3);
  g_assert_cmpfloat (curve->y0, <=, y + 2e-3);
  g_assert_cmpfloat (curve->y1, >=, y - 2e-3);
}

static void
test_curves (void)
{
  guint curves = 0, none = 0;

  expect ("relu", NULL, NULL, -1.5, 0);
  expect ("relu", NULL, NULL, 2.25, 2.25);
  expect ("tanh", NULL, NULL, 0.75, tanh (0.75));
  expect ("sigmoid", NULL, NULL, -3, 1 / (1 + exp (3)));
  expect ("elu", NULL, NULL, -1.5, exp (-1.5) - 1);
  expect ("elu", "alpha", "0.5", -1.5, 0.5 * (exp (-1.5) - 1));
  expect ("leaky_relu", "negative_slope", "0.2", -3, -0.6);
  /* In a module the value is unknown, so the default is used. */
  expect ("elu", "alpha", "{a}", -1.5, exp (-1.5) - 1);
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      g_autoptr (StudioFigure) curve = studio_figure_curve (*op, NULL);

      if ((*op)->category != LOOM_CATEGORY_ACTIVATIONS)
        {
          g_assert_null (curve);
          continue;
        }
      curves += curve != NULL;
      none += curve == NULL;
      for (guint i = 0; curve != NULL && i < curve->n_points; i++)
        g_assert_true (isfinite (curve->point[i].y));
    }
  g_assert_cmpuint (curves, >=, 18);
  /* A function of several neighbours has no curve. */
  g_assert_cmpuint (none, >=, 3);
  g_assert_null (curve_of ("softmax", NULL, NULL));
  g_assert_null (studio_figure_curve (NULL, NULL));
}

static void
test_curves_are_kept (void)
{
  g_autoptr (StudioFigure) a = curve_of ("elu", "alpha", "0.7"), b = curve_of ("elu", "alpha", "0.7");
  g_autoptr (StudioFigure) c = curve_of ("elu", "alpha", "0.8");

  g_assert_true (a == b);
  g_assert_true (a != c);
}

#define MODULE(inner)                                                                                                  \
  HEAD "  <module name=\"m\">\n    <node id=\"in\" op=\"module_input\"/>\n" inner                                      \
       "    <node id=\"out\" op=\"module_output\"/>\n  </module>\n"                                                    \
       "  <node id=\"a\" module=\"m\"/>\n  <node id=\"b\" module=\"m\" repeat=\"3\"/>\n</graph>\n"

static void
test_inside (void)
{
  static const char one[] = MODULE ("    <node id=\"act\" op=\"relu\"/>\n    <wire from=\"in\" to=\"act\"/>\n");
  static const char two[]
      = MODULE ("    <node id=\"act\" op=\"relu\"/>\n    <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n");
  g_autoptr (LoomGraph) graph = read_graph (one), again = read_graph (one), other = read_graph (two);
  g_autoptr (StudioScene) scene = scene_of (graph), same = scene_of (again), changed = scene_of (other);
  const StudioFigure *figure = scene->item[0].figure;

  g_assert_nonnull (figure);
  g_assert_cmpint (figure->kind, ==, STUDIO_FIGURE_INSIDE);
  g_assert_cmpuint (figure->n_boxes, ==, 3);
  g_assert_cmpuint (figure->n_lines, ==, 1);
  g_assert_cmpint (figure->box[1].category, ==, LOOM_CATEGORY_ACTIVATIONS);
  for (guint i = 0; i < figure->n_boxes; i++)
    {
      const StudioFigureBox *box = &figure->box[i];

      g_assert_true (box->x >= 0 && box->y >= 0 && box->x + box->width <= 1.001f && box->y + box->height <= 1.001f);
    }
  /* All instances and scenes of the same definition share the figure; another definition has its own. */
  g_assert_true (scene->item[1].figure == figure);
  g_assert_true (same->item[0].figure == figure);
  g_assert_true (changed->item[0].figure != figure);
  g_assert_cmpuint (changed->item[0].figure->n_boxes, ==, 4);
}

/* The definition of a module changes by an edit, as in Studio: the next scene has another figure, and the old one is
 * still what the old scene shows. */
static void
test_inside_follows_edits (void)
{
  g_autoptr (LoomGraph) graph = read_graph (MODULE ("    <node id=\"act\" op=\"relu\"/>\n"));
  g_autoptr (StudioScene) before = scene_of (graph), after = NULL;
  LoomElement *module = loom_graph_find_module (graph, "m");
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", "more", "op", "relu", NULL);

  loom_edit_free (
      loom_graph_apply (graph, loom_edit_insert (module, loom_element_place_for (module, LOOM_TAG_NODE), node)));
  after = scene_of (graph);
  g_assert_cmpuint (before->item[0].figure->n_boxes, ==, 3);
  g_assert_cmpuint (after->item[0].figure->n_boxes, ==, 4);
}

static StudioFigure *
sample_of (const char *attributes)
{
  g_autofree char *text = g_strdup_printf (HEAD "  <node id=\"data\" op=\"dataset\" %s/>\n</graph>\n", attributes);
  g_autoptr (LoomGraph) graph = read_graph (text), alone = NULL;
  const LoomElement *node = loom_element_find (loom_graph_root (graph), LOOM_TAG_NODE);
  g_autofree char *key = studio_figure_sample_key (node, NULL);
  StudioFigure *first, *known;

  g_assert_nonnull (key);
  g_assert_false (studio_figure_sample_peek (key, &known));
  alone = studio_figure_sample_graph (node, NULL);
  first = studio_figure_sample_read (alone, key);
  /* That there is nothing is not kept: a file may come. */
  g_assert_cmpint (studio_figure_sample_peek (key, &known), ==, first != NULL);
  g_assert_true (known == first);
  g_clear_pointer (&known, studio_figure_unref);
  return first;
}

static void
test_samples (void)
{
  g_autoptr (StudioFigure) plane = sample_of ("source=\"spirals\""), tokens = sample_of ("source=\"tokens\"");
  g_autoptr (StudioFigure) numbers = sample_of ("source=\"random\" in_features=\"3\"");
  g_autoptr (StudioFigure) gone = sample_of ("source=\"csv\" path=\"/nowhere/at/all.csv\"");
  guint groups[2] = { 0 };

  g_assert_cmpint (plane->kind, ==, STUDIO_FIGURE_POINTS);
  g_assert_cmpuint (plane->n_groups, ==, 2);
  for (guint i = 0; i < plane->n_points; i++)
    {
      groups[plane->point[i].group]++;
      g_assert_true (plane->point[i].x >= plane->x0 && plane->point[i].x <= plane->x1);
    }
  g_assert_cmpuint (groups[0], >, 10);
  g_assert_cmpuint (groups[1], >, 10);
  g_assert_cmpint (tokens->kind, ==, STUDIO_FIGURE_IMAGE);
  g_assert_cmpuint (tokens->width, >, 1);
  g_assert_cmpint (numbers->kind, ==, STUDIO_FIGURE_WORDS);
  g_assert_nonnull (numbers->label);
  g_assert_null (gone);
}

/* The graph of the data set of a table, in a file of this folder. */
static LoomGraph *
table_graph (const char *table, const char *folder)
{
  g_autofree char *path = g_markup_printf_escaped ("%s", table);
  g_autofree char *text = g_strdup_printf (HEAD "  <node id=\"data\" op=\"dataset\" source=\"csv\" path=\"%s\" "
                                                "target=\"y\" target_type=\"float\"/>\n</graph>\n",
                                           path);
  g_autoptr (LoomGraph) graph = read_graph (text);

  loom_graph_set_folder (graph, folder);
  return studio_figure_sample_graph (loom_element_find (loom_graph_root (graph), LOOM_TAG_NODE), graph);
}

/* What is outside a graph's folder is not opened before the user has agreed to it; a path of any letters is kept. */
static void
test_outside_data (void)
{
  g_autofree char *root = g_dir_make_tmp ("gradloom-figures-XXXXXX", NULL);
  g_autofree char *table = g_build_filename (root, "t 1.csv", NULL), *folder = g_build_filename (root, "apart", NULL),
                  *state = g_build_filename (g_get_user_state_dir (), "gradloom", "outside-data", NULL), *text = NULL;
  char odd[] = "/nowhere/a\n\xff", *paths[] = { odd, table, NULL };
  g_autoptr (LoomGraph) apart = table_graph (table, folder), inside = table_graph (table, root);

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (table, "a,y\n1,2\n2,3\n3,4\n4,5\n", -1, NULL));
  g_assert_null (studio_figure_sample_refusal (inside));
  g_assert_nonnull (studio_figure_sample_refusal (apart));
  g_assert_null (studio_figure_sample_read (apart, "apart"));
  studio_allowed_paths_add (paths);
  studio_allowed_paths_add (paths);
  g_assert_null (studio_figure_sample_refusal (apart));
  g_autoptr (StudioFigure) figure = studio_figure_sample_read (apart, "apart");
  g_assert_nonnull (figure);
  g_assert_true (g_file_get_contents (state, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 3); /* the last is empty */
  g_autofree char *first = g_strcompress (lines[0]);
  g_assert_cmpstr (first, ==, odd);
  g_remove (table);
  g_rmdir (folder);
  g_rmdir (root);
}

/* The pipe has no writer, so the test would hang if it were opened. */
static void
test_pipe (void)
{
  g_autofree char *root = g_dir_make_tmp ("gradloom-figures-XXXXXX", NULL);
  g_autofree char *pipe = g_build_filename (root, "t.csv", NULL);
  g_autoptr (LoomGraph) graph = table_graph (pipe, root);

  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  g_assert_nonnull (studio_figure_sample_refusal (graph));
  g_remove (pipe);
  g_rmdir (root);
}

/* An augmented image is shown before and after the augmentation. */
static void
test_variants (void)
{
  g_autoptr (StudioFigure) plain = sample_of ("source=\"shapes\" size=\"32\" n=\"10\"");
  g_autoptr (StudioFigure) strip = sample_of ("source=\"shapes\" size=\"32\" n=\"10\" rotate=\"30\" shear=\"20\"");
  guint differ[4] = { 0 };

  g_assert_cmpuint (plain->width, ==, 32);
  g_assert_cmpuint (strip->height, ==, 32);
  g_assert_cmpuint (strip->width, ==, 4 * 32 + 3 * 2);
  g_assert_nonnull (plain->label);
  g_assert_null (strip->label);
  for (guint y = 0; y < 32; y++)
    for (guint x = 0; x < 32; x++)
      for (guint k = 0; k < 4; k++)
        differ[k]
            += memcmp (plain->pixels + 3 * (y * 32 + x), strip->pixels + 3 * (y * strip->width + k * 34 + x), 3) != 0;
  g_assert_cmpuint (differ[0], ==, 0);
  for (guint k = 1; k < 4; k++)
    g_assert_cmpuint (differ[k], >, 20);
}

/* Tokens are shown as text without padding, and an image has its caption below. */
static void
test_sentences (void)
{
  g_autoptr (StudioFigure) date = sample_of ("source=\"dates\""), picture = sample_of ("source=\"shapes\" n=\"20\"");
  g_autoptr (StudioFigure) tree = sample_of ("source=\"arithmetic-trees\" leaves=\"2\" operators=\"*\" n=\"5\"");

  g_assert_cmpint (date->kind, ==, STUDIO_FIGURE_WORDS);
  g_assert_null (strchr (date->label, '<'));
  g_assert_true (g_regex_match_simple ("^[a-z]+( [a-z]+)+$", date->label, 0, 0));
  g_assert_cmpint (picture->kind, ==, STUDIO_FIGURE_IMAGE);
  g_assert_cmpuint (picture->width, ==, 32);
  g_assert_true (
      g_regex_match_simple ("^a (small|large) [a-z]+ (circle|square|triangle)( .*)?$", picture->label, 0, 0));
  g_assert_null (strchr (picture->label, '<'));
  g_assert_true (g_regex_match_simple ("^[0-9]( [0-9] ×)?$", tree->label, 0, 0));
}

/* A file that is not there yet is found as soon as it is; and however many data sets are looked at, few are kept. */
static void
test_late_samples (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-figures-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "late.csv", NULL);
  g_autofree char *attributes = g_strdup_printf ("source=\"csv\" path=\"%s\" target=\"c\"", path);
  g_autoptr (StudioFigure) gone = sample_of (attributes), late = NULL, first = NULL, again = NULL;

  g_assert_null (gone);
  g_assert_true (g_file_set_contents (path, "a,b,c\n0,1,x\n1,0,y\n0,0,x\n1,1,y\n", -1, NULL));
  late = sample_of (attributes);
  g_assert_nonnull (late);
  first = sample_of ("source=\"xor\" n=\"10\" seed=\"77\"");
  for (guint i = 0; i < 80; i++)
    {
      g_autofree char *other = g_strdup_printf ("source=\"xor\" n=\"10\" seed=\"%u\"", 1000 + i);
      g_autoptr (StudioFigure) one = sample_of (other);
      g_assert_nonnull (one);
    }
  /* Not known any more, and so read again. */
  again = sample_of ("source=\"xor\" n=\"10\" seed=\"77\"");
  g_assert_nonnull (again);
  g_remove (path);
  g_rmdir (folder);
}

/* A figure increases the height by one step and leaves the ports where they were. */
static void
test_heights (void)
{
  g_autoptr (LoomGraph) graph = read_graph (HEAD "  <node id=\"data\" op=\"dataset\" source=\"xor\"/>\n"
                                                 "  <node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n"
                                                 "  <node id=\"act\" op=\"relu\"/>\n"
                                                 "  <node id=\"shares\" op=\"softmax\"/>\n</graph>\n");
  g_autoptr (StudioScene) scene = scene_of (graph);
  const StudioItem *fc = &scene->item[1], *act = &scene->item[2], *shares = &scene->item[3];
  StudioRect room = studio_geometry_figure (act), none = studio_geometry_figure (fc);
  double x, y, other_x, other_y;

  g_assert_cmpfloat (fc->height, ==, STUDIO_CARD_HEIGHT);
  g_assert_cmpfloat (shares->height, ==, STUDIO_CARD_HEIGHT);
  g_assert_cmpfloat (act->height, ==, STUDIO_CARD_HEIGHT + STUDIO_CARD_FIGURE);
  g_assert_cmpfloat (scene->item[0].height, ==, STUDIO_CARD_HEIGHT + STUDIO_CARD_FIGURE);
  g_assert_nonnull (scene->item[0].sample_key);
  g_assert_cmpfloat (none.height, ==, 0);
  g_assert_cmpfloat (room.y, >=, act->y + STUDIO_CARD_HEIGHT);
  g_assert_cmpfloat (room.y + room.height, <, act->y + act->height);
  studio_geometry_port (fc, TRUE, 0, &x, &y);
  studio_geometry_port (act, TRUE, 0, &other_x, &other_y);
  g_assert_cmpfloat (y - fc->y, ==, other_y - act->y);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/figures/curves", test_curves);
  g_test_add_func ("/figures/curves-are-kept", test_curves_are_kept);
  g_test_add_func ("/figures/inside", test_inside);
  g_test_add_func ("/figures/inside-follows-edits", test_inside_follows_edits);
  g_test_add_func ("/figures/samples", test_samples);
  g_test_add_func ("/figures/outside-data", test_outside_data);
  g_test_add_func ("/figures/pipe", test_pipe);
  g_test_add_func ("/figures/variants", test_variants);
  g_test_add_func ("/figures/sentences", test_sentences);
  g_test_add_func ("/figures/late-samples", test_late_samples);
  g_test_add_func ("/figures/heights", test_heights);
  return g_test_run ();
}
