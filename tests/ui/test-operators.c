/* The documentation of operators: every operator has a page, and an example that is inserted in one step. */
#include <adwaita.h>
#include <string.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "ui/document/studio-example.h"
#include "ui/scene/studio-geometry.h"
#include "ui/help/studio-operator-page.h"

/* Below what was there, no card on another; undo brings the graph back byte for byte. */
static void
check_insert (const LoomOp *op)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='input' op='input' shape='B,3'/>"
                       "<layout><place node='input' x='40' y='80'/></layout></graph>");
  g_autofree char *before = document_text (document), *after = NULL, *undone = NULL;
  g_autoptr (GError) error = NULL;
  StudioScene *scene;
  guint n = 0;

  g_test_message ("%s", op->name);
  g_assert_true (studio_example_insert (document, op, &error));
  g_assert_no_error (error);
  scene = studio_document_get_scene (document);
  n = scene->n_items;
  g_assert_cmpuint (n, >, 1);
  g_assert_cmpuint (studio_document_n_selected (document), ==, n - 1);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < i; k++)
      {
        StudioRect a = studio_geometry_card (&scene->item[i]), b = studio_geometry_card (&scene->item[k]);

        g_assert_false (studio_rect_intersects (&a, &b));
      }
  g_assert_cmpuint (loom_faults_count (studio_document_get_faults (document)), ==, 0);
  studio_document_undo (document);
  undone = document_text (document);
  g_assert_cmpstr (undone, ==, before);
  studio_document_redo (document);
  after = document_text (document);
  g_assert_cmpstr (after, !=, before);
}

static void
test_insert (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    /* Ports of a module are inserted at the root with an example, because they cannot be there alone. */
    check_insert (*op);
}

static gboolean
says (GtkWidget *widget, const char *words)
{
  if (GTK_IS_LABEL (widget) && strstr (gtk_label_get_text (GTK_LABEL (widget)), words) != NULL)
    return TRUE;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    if (says (child, words))
      return TRUE;
  return FALSE;
}

static void
test_page (void)
{
  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    {
      GtkWidget *page = g_object_ref_sink (studio_operator_page_new (*op));
      g_autofree char *file = loom_op_source_file (*op);

      g_test_message ("%s", (*op)->name);
      g_assert_true (says (page, (*op)->title));
      g_assert_true (says (page, file));
      for (const LoomParamSpec *p = (*op)->params; p != NULL && p->name != NULL; p++)
        g_assert_true (says (page, p->name));
      for (const LoomPortSpec *p = (*op)->inputs; p != NULL && p->name != NULL; p++)
        g_assert_true ((p->flags & LOOM_PORT_VARIADIC) != 0 || says (page, p->name));
      g_object_unref (page);
    }
}

/* The page of an operator lists the values of a parameter and the source of the formula. */
static void
test_facts (void)
{
  GtkWidget *page = g_object_ref_sink (studio_operator_page_new (loom_op ("gelu")));

  g_assert_true (says (page, "enum, default none, one of none | tanh"));
  g_assert_true (says (page, "Hendrycks and Gimpel"));
  g_assert_true (says (page, "torch.nn.GELU"));
  g_object_unref (page);
}

TEST_FILE (argc, argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  g_test_add_func ("/operators/insert", test_insert);
  g_test_add_func ("/operators/page", test_page);
  g_test_add_func ("/operators/facts", test_facts);
  return g_test_run ();
}
