/* The fault of a value stands under its field, and a screen reader says it with the field. */
#include <adwaita.h>

#include "tests/ui/document-test.h"
#include "ui/inspector/studio-inspector-private.h"

static InspectorRow *
find_row (StudioInspector *inspector, const char *name)
{
  for (guint i = 0; i < inspector->rows->len; i++)
    {
      InspectorRow *row = inspector->rows->pdata[i];

      if (g_str_equal (row->spec.name, name))
        return row;
    }
  return NULL;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static void
assert_said (const InspectorRow *row, const char *text)
{
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (row->message)), ==, text);
  g_assert_true (gtk_widget_get_visible (row->message));
  gtk_test_accessible_assert_property (row->editor, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text);
}

/* A value that is none, one that the engine refuses, one that is missing; and none of it once it is mended. */
static void
test_fields (void)
{
  g_autoptr (StudioDocument) document
      = document_load ("<graph xmlns='urn:gradloom:graph' version='1'><node id='x' op='input' shape='B,1,3,3'/>"
                       "<node id='conv' op='conv2d' out_channels='4' kernel_size='3' groups='3'/>"
                       "<node id='fc' op='linear'/><wire from='x' to='conv'/><wire from='x' to='fc'/></graph>");
  StudioInspector *inspector = g_object_ref_sink (studio_inspector_new (document));
  InspectorRow *row, *groups;
  StudioScene *scene;

  studio_document_select_only (document, document_serial (document, "conv"));
  settle ();
  row = find_row (inspector, "out_channels");
  groups = find_row (inspector, "groups");
  g_assert_false (gtk_widget_get_visible (row->message));
  gtk_editable_set_text (GTK_EDITABLE (row->editor), "0");
  assert_said (row, "At least 1.");
  g_assert_true (gtk_widget_has_css_class (row->row, "error"));
  gtk_test_accessible_assert_state (row->editor, GTK_ACCESSIBLE_STATE_INVALID, GTK_ACCESSIBLE_INVALID_TRUE);
  gtk_editable_set_text (GTK_EDITABLE (row->editor), "6");
  g_assert_false (gtk_widget_get_visible (row->message));
  g_assert_false (gtk_widget_has_css_class (row->row, "error"));
  gtk_test_accessible_assert_property (row->editor, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, row->spec.doc);

  settle ();
  scene = studio_document_get_scene (document);
  {
    const StudioItem *item = &scene->item[studio_scene_find_id (scene, "conv")];

    g_test_message ("%s: %s", item->fault_port, item->fault);
    g_assert_cmpstr (item->fault_port, ==, "groups");
    assert_said (groups, item->fault);
    g_assert_false (gtk_widget_get_visible (inspector->fault));
  }
  studio_document_select_only (document, document_serial (document, "fc"));
  settle ();
  row = find_row (inspector, "out_features");
  g_assert_true (gtk_widget_get_visible (row->message));
  /* A value that is still to be set is not red. */
  g_assert_false (gtk_widget_has_css_class (row->row, "error"));
  g_object_unref (inspector);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/fields/messages", test_fields);
  return g_test_run ();
}
