/* Every kind of pin in the table: it can be created, accepts values of any rank, has an accessible description, and can
 * be cleared; and which kind a tensor gets. */
#include <adwaita.h>

#include "ui/charts/studio-scalar-pin.h"
#include "ui/pins/studio-iteration-chooser.h"
#include "ui/pins/studio-pin-kind.h"
#include "tests/test-program.h"

#define MAX_VALUES 20000

static StudioPinValue
value_of (const char *tensor, gsize rank, const gint64 *dims)
{
  static float values[MAX_VALUES];
  StudioPinValue value = { .tensor = tensor,
                           .step = 840,
                           .when = "step 840",
                           .rank = rank,
                           .dims = dims,
                           .full_rank = rank,
                           .values = values,
                           .n_values = 1 };
  for (gsize i = 0; i < rank; i++)
    value.n_values *= (gsize)dims[i];
  g_assert_cmpuint (value.n_values, <=, MAX_VALUES);
  for (gsize i = 0; i < value.n_values; i++)
    values[i] = (float)i;
  return value;
}

static void
check_shown (const StudioPinKind *kind, gsize rank, const gint64 *dims)
{
  GtkWidget *widget = g_object_ref_sink (kind->create (kind->height));
  StudioPinValue value = value_of ("block.1.conv", rank, dims);
  kind->clear (widget, value.tensor);
  gpointer last = widget;
  g_object_add_weak_pointer (G_OBJECT (widget), &last);
  g_assert_true (gtk_test_accessible_has_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL));
  kind->show (widget, &value);
  if (kind->set_text_scale != NULL)
    kind->set_text_scale (widget, 1.6);
  if (kind->get_map != NULL)
    {
      g_assert_true (STUDIO_IS_HEAT_MAP (kind->get_map (widget)));
      g_assert_cmpint (studio_heat_map_get_step (kind->get_map (widget)), ==, 840);
    }
  kind->clear (widget, value.tensor);
  g_object_unref (widget);
  g_assert_null (last);
}

static void
test_every_kind (void)
{
  static const gint64 few[] = { 3, 4 }, many[] = { 1, MAX_VALUES }, deep[] = { 2, 3, 4, 5 };
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  guint n_any = 0;
  for (guint i = 0; i < studio_pin_n_kinds (); i++)
    {
      const StudioPinKind *kind = studio_pin_kind (i);
      g_test_message ("%s", kind->name);
      g_assert_true (g_hash_table_add (names, (gpointer)kind->name));
      g_assert_true (studio_pin_kind_find (kind->name) == kind);
      g_assert_cmpint (kind->height, >=, 40);
      n_any += kind->suits == NULL;
      for (gsize rank = 0; rank <= 2; rank++)
        check_shown (kind, rank, few);
      check_shown (kind, 2, many);
      check_shown (kind, 4, deep);
    }
  /* An entry after the one that accepts everything would never be chosen. */
  g_assert_cmpuint (n_any, ==, 1);
  g_assert_null (studio_pin_kind (studio_pin_n_kinds () - 1)->suits);
}

static void
test_choice (void)
{
  LoomType scalar = { 0 }, matrix = { .shape.rank = 2 };
  g_assert_cmpstr (studio_pin_kind_for (&scalar)->name, ==, "scalar");
  g_assert_cmpstr (studio_pin_kind_for (&matrix)->name, ==, "heatmap");
  g_assert_cmpstr (studio_pin_kind_for (NULL)->name, ==, "heatmap");
  g_assert_cmpstr (studio_pin_kind_find ("from a later version")->name, ==, "heatmap");
  g_assert_cmpstr (studio_pin_kind_find (NULL)->name, ==, "heatmap");
}

static void
test_scalar (void)
{
  const StudioPinKind *kind = studio_pin_kind_find ("scalar");
  GtkWidget *widget = g_object_ref_sink (kind->create (kind->height));
  StudioPinValue value = value_of ("loss", 0, NULL);
  kind->show (widget, &value);
  g_assert_cmpstr (studio_scalar_pin_get_figure (STUDIO_SCALAR_PIN (widget)), ==, "0");
  gtk_test_accessible_assert_property (widget, GTK_ACCESSIBLE_PROPERTY_LABEL, "loss · step 840 0");
  kind->clear (widget, "loss");
  g_assert_cmpstr (studio_scalar_pin_get_figure (STUDIO_SCALAR_PIN (widget)), ==, "–");
  g_object_unref (widget);
}

/* Twenty thousand columns become four thousand, each the mean of five. */
static void
test_long_side (void)
{
  static const gint64 long_side[] = { 1, MAX_VALUES };
  const StudioPinKind *kind = studio_pin_kind_find ("heatmap");
  GtkWidget *widget = g_object_ref_sink (kind->create (kind->height));
  StudioPinValue value = value_of ("line", 2, long_side);
  double low, high;
  kind->show (widget, &value);
  g_assert_true (studio_heat_map_get_range (kind->get_map (widget), &low, &high));
  g_assert_cmpfloat (low, ==, 2);
  g_assert_cmpfloat (high, ==, MAX_VALUES - 3);
  gtk_test_accessible_assert_property (widget, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       "1 row, 4000 columns, from 2.000 to 19997");
  g_object_unref (widget);
}

/* ---- iterations of a loop -------------------------------------------------------------- */

static void
count_cb (gpointer data)
{
  (*(int *)data)++;
}

static GVariant *
shape_of (gsize rank, const gint64 *dims)
{
  return g_variant_ref_sink (g_variant_new_fixed_array (G_VARIANT_TYPE_INT64, dims, rank, sizeof *dims));
}

static void
assert_index (StudioIterationChooser *iterations, gsize n, const gint64 *expected)
{
  g_autoptr (GVariant) index = g_variant_ref_sink (studio_iteration_chooser_get_index (iterations));
  gsize have;
  const gint64 *at = g_variant_get_fixed_array (index, &have, sizeof *at);
  g_assert_cmpmem (at, have * sizeof *at, expected, n * sizeof *expected);
}

/* Of matrices one is selected, counted through the loops; vectors are all shown at once. */
static void
test_iterations (void)
{
  static const gint64 nested[] = { 3, 4, 32, 7 }, vectors[] = { 8, 7 };
  g_autoptr (GVariant) two = shape_of (4, nested), one = shape_of (4, nested), none = shape_of (2, vectors);
  int n_changes = 0;
  StudioIterationChooser *iterations = studio_iteration_chooser_new (count_cb, &n_changes);
  GtkWidget *row = g_object_ref (studio_iteration_chooser_get_widget (iterations));
  GtkWidget *back = gtk_widget_get_first_child (row), *forth = gtk_widget_get_last_child (row);
  GtkWidget *words = gtk_widget_get_next_sibling (back);

  g_assert_false (gtk_widget_get_visible (row));
  assert_index (iterations, 0, NULL);
  g_assert_cmpuint (studio_iteration_chooser_set_shape (iterations, 2, two), ==, 2);
  g_assert_true (gtk_widget_get_visible (row));
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (words)), ==, "iteration 1 of 12");
  g_assert_false (gtk_widget_get_sensitive (back));
  for (int i = 0; i < 6; i++)
    g_signal_emit_by_name (forth, "clicked");
  g_assert_cmpint (n_changes, ==, 6);
  assert_index (iterations, 2, (const gint64[]){ 1, 2 });
  g_signal_emit_by_name (back, "clicked");
  assert_index (iterations, 2, (const gint64[]){ 1, 1 });
  studio_iteration_chooser_select (iterations, 100);
  g_assert_cmpint (studio_iteration_chooser_get_selected (iterations), ==, 11);
  g_assert_false (gtk_widget_get_sensitive (forth));
  /* Another shape has fewer. */
  g_assert_cmpuint (studio_iteration_chooser_set_shape (iterations, 1, one), ==, 1);
  assert_index (iterations, 1, (const gint64[]){ 2 });
  g_assert_cmpuint (studio_iteration_chooser_set_shape (iterations, 1, none), ==, 0);
  assert_index (iterations, 0, NULL);
  g_assert_false (gtk_widget_get_visible (row));
  studio_iteration_chooser_free (iterations);
  g_object_unref (row);
}

TEST_FILE (argc, argv)
{
  g_setenv ("GTK_A11Y", "test", TRUE);
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/pins/iterations", test_iterations);
  g_test_add_func ("/pins/every-kind", test_every_kind);
  g_test_add_func ("/pins/choice", test_choice);
  g_test_add_func ("/pins/scalar", test_scalar);
  g_test_add_func ("/pins/long-side", test_long_side);
  return g_test_run ();
}
