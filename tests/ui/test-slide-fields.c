/* The fields of a view of a lecture: their values, and what is kept while they are edited. */
#include <adwaita.h>

#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "ui/present/studio-slide-fields.h"

static const char lecture[] = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
                              "<node id=\"a\" op=\"input\" shape=\"B,4\"/><node id=\"b\" op=\"relu\"/>"
                              "<view><pin tensor=\"a\"/><pin tensor=\"b\"/><slide title=\"one\"/></view></graph>";

/* A check box changes the slide and keeps the list of pins, so that keyboard focus is not lost. */
static void
test_pins (void)
{
  g_autoptr (StudioDocument) document = document_load (lecture);
  g_autoptr (StudioSlides) slides = studio_slides_new (document);
  g_autoptr (GPtrArray) before = g_ptr_array_new (), after = g_ptr_array_new (), more = g_ptr_array_new ();
  GtkWindow *window = g_object_ref_sink (GTK_WINDOW (gtk_window_new ()));
  StudioSlideFields *fields;

  studio_slides_set_current (slides, 0);
  fields = studio_slide_fields_new (document, slides);
  gtk_window_set_child (window, GTK_WIDGET (fields));
  gtk_window_present (window);
  find_widgets (GTK_WIDGET (fields), GTK_TYPE_CHECK_BUTTON, before);
  g_assert_cmpuint (before->len, ==, 2);
  g_assert_true (gtk_check_button_get_active (before->pdata[0]));
  g_assert_true (gtk_widget_grab_focus (before->pdata[1]));
  gtk_check_button_set_active (before->pdata[0], FALSE);
  gtk_check_button_set_active (before->pdata[1], FALSE);
  g_assert_cmpstr (studio_slides_get (slides, 0)->pins[0], ==, NULL);
  find_widgets (GTK_WIDGET (fields), GTK_TYPE_CHECK_BUTTON, after);
  g_assert_cmpuint (after->len, ==, 2);
  g_assert_true (after->pdata[0] == before->pdata[0] && after->pdata[1] == before->pdata[1]);
  g_assert_true (gtk_window_get_focus (window) == after->pdata[1]);
  g_assert_cmpuint (studio_document_n_steps (document), ==, 1);
  studio_document_undo (document);
  g_assert_true (gtk_check_button_get_active (after->pdata[0]));
  g_assert_true (gtk_check_button_get_active (after->pdata[1]));

  /* One pin more is one button more, as the list is read again with the slide. */
  studio_document_begin (document, "Watch");
  studio_document_edit (document,
                        loom_edit_insert (loom_element_find (studio_document_get_scope (document), LOOM_TAG_VIEW), 2,
                                          loom_element_new (LOOM_TAG_PIN, "tensor", "a.out", NULL)));
  studio_document_end (document);
  find_widgets (GTK_WIDGET (fields), GTK_TYPE_CHECK_BUTTON, more);
  g_assert_cmpuint (more->len, ==, 3);
  gtk_window_destroy (window);
  g_object_unref (window);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  g_test_add_func ("/ui/slide-fields/pins", test_pins);
  return g_test_run ();
}
