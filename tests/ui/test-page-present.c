/* A page's pins and its presentation, each made without a page. */
#include <adwaita.h>

#include "gradloom-icons.h"
#include "gradloom-resources.h"
#include "tests/test-program.h"
#include "tests/ui/document-graphs.h"
#include "tests/ui/document-test.h"
#include "tests/ui/find-widgets.h"
#include "tests/ui/page-frame.h"
#include "ui/page/canvas-fitter.h"
#include "ui/page/studio-layer-commands.h"
#include "ui/page/studio-presentation.h"
#include "ui/scene/studio-geometry.h"
#include "ui/stepper/studio-step-layer.h"

static void
entered_cb (StudioRateCard *card, double rate, double *entered)
{
  *entered = rate;
}

static void
test_rate_card (void)
{
  GtkWindow *window = GTK_WINDOW (gtk_window_new ());
  StudioRateCard *card = g_object_new (STUDIO_TYPE_RATE_CARD, NULL);
  double entered = -1;
  gtk_window_set_child (window, GTK_WIDGET (card));
  g_signal_connect (card, "entered", G_CALLBACK (entered_cb), &entered);
  studio_rate_card_open (card, 0.25);
  GtkWidget *entry = find_widget (GTK_WIDGET (card), GTK_TYPE_ENTRY);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "0.25");
  gtk_editable_set_text (GTK_EDITABLE (entry), "-1");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (entered, ==, -1);
  g_assert_true (gtk_widget_has_css_class (entry, "error"));
  gtk_editable_set_text (GTK_EDITABLE (entry), "0.5");
  g_signal_emit_by_name (entry, "activate");
  g_assert_cmpfloat (entered, ==, 0.5);
  g_assert_true (studio_rate_card_is_open (card));
  studio_rate_card_close (card, GTK_WIDGET (card));
  g_assert_false (studio_rate_card_is_open (card));
  gtk_window_destroy (window);
}

/* A pin and the room that the cards below make for it are one step. */
static void
test_watch (void)
{
  Frame frame;
  frame_begin (&frame, GRAPH ("<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"fc\" op=\"linear\" "
                              "out_features=\"4\"/><node id=\"act\" op=\"relu\"/><wire from=\"x\" to=\"fc\"/>"
                              "<wire from=\"fc\" to=\"act\"/><layout><place node=\"x\" x=\"0\" y=\"0\"/>"
                              "<place node=\"fc\" x=\"240\" y=\"0\"/><place node=\"act\" x=\"240\" y=\"120\"/>"
                              "</layout>"));
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  g_autofree char *before = document_text (frame.document);
  const guint steps = studio_document_n_steps (frame.document);

  studio_pins_toggle (pins, "fc", FALSE);
  g_assert_cmpuint (studio_document_n_steps (frame.document), ==, steps + 1);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  const StudioScene *scene = studio_document_get_scene (frame.document);
  const StudioRect fc = studio_geometry_with_pins (&scene->item[studio_scene_find_id (scene, "fc")]),
                   act = studio_geometry_card (&scene->item[studio_scene_find_id (scene, "act")]);
  g_assert_cmpfloat (fc.height, >, 120);
  g_assert_false (studio_rect_intersects (&fc, &act));
  g_assert_true (studio_document_undo (frame.document));
  g_autofree char *after = document_text (frame.document);
  g_assert_cmpstr (after, ==, before);
  g_object_unref (pins);
  frame_end (&frame);
}

/* Two layers below each other in a module, and a layer below its card. */
#define MODULAR                                                                                                        \
  GRAPH (                                                                                                              \
      "<module name=\"block\"><node id=\"in\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"4\"/>" \
      "<node id=\"act_one\" op=\"relu\"/><node id=\"out\" op=\"module_output\"/><wire from=\"in\" to=\"fc\"/>"         \
      "<wire from=\"fc\" to=\"act_one\"/><wire from=\"act_one\" to=\"out\"/><layout><place node=\"in\" x=\"0\" "       \
      "y=\"0\"/>"                                                                                                      \
      "<place node=\"fc\" x=\"240\" y=\"0\"/><place node=\"act_one\" x=\"240\" y=\"120\"/>"                            \
      "<place node=\"out\" x=\"480\" y=\"120\"/></layout></module>"                                                    \
      "<node id=\"x\" op=\"input\" shape=\"B,8\"/><node id=\"body\" module=\"block\" repeat=\"2\"/>"                   \
      "<node id=\"tail\" op=\"relu\"/><wire from=\"x\" to=\"body\"/><wire from=\"body\" to=\"tail\"/>"                 \
      "<layout><place node=\"x\" x=\"0\" y=\"0\"/><place node=\"body\" x=\"240\" y=\"0\"/>"                            \
      "<place node=\"tail\" x=\"240\" y=\"120\"/></layout>")

static gboolean
pins_cover (StudioDocument *document, const char *pinned, const char *id)
{
  const StudioScene *scene = studio_document_get_scene (document);
  const StudioItem *item = &scene->item[studio_scene_find_id (scene, pinned)];
  const StudioRect pins = studio_geometry_with_pins (item),
                   card = studio_geometry_card (&scene->item[studio_scene_find_id (scene, id)]);

  g_assert_cmpfloat (item->hanging, >, 120);
  return studio_rect_intersects (&pins, &card);
}

/* A pin in a module has room there and under the card of the module: one step. */
static void
test_watch_in_module (void)
{
  Frame frame;
  const char *tensor;
  frame_begin (&frame, MODULAR);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  g_autofree char *before = document_text (frame.document);

  g_assert_true (studio_document_enter (frame.document, document_serial (frame.document, "body")));
  g_autofree char *path = studio_document_dup_node_path (frame.document, document_serial (frame.document, "fc"));
  g_assert_cmpstr (path, ==, "body.0.fc");
  g_assert_true (studio_pins_toggle (pins, path, FALSE));
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, path);
  g_assert_false (pins_cover (frame.document, "fc", "act_one"));
  studio_document_leave (frame.document);
  g_assert_false (pins_cover (frame.document, "body", "tail"));
  g_assert_true (studio_document_undo (frame.document));
  g_autofree char *after = document_text (frame.document);
  g_assert_cmpstr (after, ==, before);
  g_object_unref (pins);
  frame_end (&frame);
}

/* The card of a module shows what its first output reads; the same command removes that pin. */
static void
test_watch_module (void)
{
  Frame frame;
  const char *tensor;
  frame_begin (&frame, MODULAR);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  const StudioLayerCommands commands = { .document = frame.document, .pins = pins, .toasts = frame.toasts };

  studio_document_select_only (frame.document, document_serial (frame.document, "body"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 1);
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, "body.1.act_one");
  g_assert_false (pins_cover (frame.document, "body", "tail"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (studio_pins_n (pins), ==, 0);
  studio_layer_commands_watch_gradient (&commands);
  settle ();
  studio_pins_get (pins, 0, &tensor);
  g_assert_cmpstr (tensor, ==, "grad:body.1.act_one");
  g_assert_true (studio_document_undo (frame.document));
  settle ();
  g_assert_cmpuint (frame.said, ==, 0);
  /* Without a shape it says so. */
  studio_document_select_only (frame.document, document_serial (frame.document, "x"));
  studio_document_delete_selection (frame.document);
  studio_document_get_net (frame.document);
  studio_document_select_only (frame.document, document_serial (frame.document, "body"));
  studio_layer_commands_watch (&commands);
  settle ();
  g_assert_cmpuint (frame.said, ==, 1);
  g_object_unref (pins);
  frame_end (&frame);
}

/* Its single keys, caption and progress. */
static void
test_presentation (void)
{
  Frame frame;
  guint steps = 0, rates = 0;
  frame_begin (&frame, CHAIN);
  StudioSlides *slides = studio_slides_new (frame.document);
  StudioPins *pins = studio_pins_new (frame.document, frame.canvas, frame.run);
  const StudioPresentationParts parts = {
    .document = frame.document,
    .run = frame.run,
    .canvas = frame.canvas,
    .pins = pins,
    .slides = slides,
    .layer = g_object_ref_sink (studio_present_layer_new (frame.canvas)),
    .caption = g_object_ref_sink (g_object_new (STUDIO_TYPE_CAPTION, NULL)),
    .keys = g_object_ref_sink (g_object_new (STUDIO_TYPE_KEY_CARD, NULL)),
    .rate = g_object_ref_sink (g_object_new (STUDIO_TYPE_RATE_CARD, NULL)),
    .toasts = frame.toasts,
  };
  StudioPresentation *presentation = studio_presentation_new (&parts);
  g_signal_connect_swapped (presentation, "step", G_CALLBACK (count_cb), &steps);
  g_signal_connect_swapped (presentation, "learning-rate", G_CALLBACK (count_cb), &rates);
  studio_presentation_ask_learning_rate (presentation);
  g_assert_cmpuint (rates, ==, 1);
  const LoomSlide slide = { .title = (char *)"", .text = (char *)"", .scope = (char *)"", .whole = TRUE };
  studio_slides_add (slides, &slide);
  studio_slides_add (slides, &slide);
  studio_slides_set_current (slides, 0);
  studio_presentation_set_on (presentation, TRUE);
  g_autofree char *progress = NULL;
  g_object_get (parts.keys, "progress", &progress, NULL);
  g_assert_cmpstr (progress, ==, "\u200e1 / 2");
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (parts.caption)));
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_Page_Down, 0));
  g_assert_cmpint (studio_slides_get_current (slides), ==, 1);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_space, 0));
  g_assert_cmpuint (steps, ==, 1);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_S, GDK_SHIFT_MASK));
  g_assert_true (studio_present_layer_get_spotlight (parts.layer));
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_3, 0));
  g_assert_cmpint (studio_present_layer_get_tool (parts.layer), ==, STUDIO_TOOL_PEN);
  g_assert_true (studio_presentation_key (presentation, GDK_KEY_Escape, 0));
  g_assert_cmpint (studio_present_layer_get_tool (parts.layer), ==, STUDIO_TOOL_NONE);
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_Escape, 0));
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_p, GDK_CONTROL_MASK));
  g_assert_false (studio_presentation_key (presentation, GDK_KEY_Right, GDK_SHIFT_MASK));
  studio_document_select_only (frame.document, document_serial (frame.document, "act_one"));
  GtkWidget *label = find_widget (GTK_WIDGET (parts.caption), GTK_TYPE_LABEL);
  g_assert_true (g_str_has_prefix (gtk_label_get_text (GTK_LABEL (label)), "actone = relu(fc)"));
  studio_presentation_set_on (presentation, FALSE);
  g_assert_false (studio_present_layer_get_spotlight (parts.layer));
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (parts.caption)));
  release (presentation);
  g_object_unref (pins);
  g_object_unref (parts.rate);
  g_object_unref (parts.keys);
  g_object_unref (parts.caption);
  g_object_unref (parts.layer);
  g_object_unref (slides);
  frame_end (&frame);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  adw_init ();
  gradloom_register_resource ();
  gradloom_icons_register_resource ();
  g_test_add_func ("/page/rate-card", test_rate_card);
  g_test_add_func ("/page/watch", test_watch);
  g_test_add_func ("/page/watch-in-module", test_watch_in_module);
  g_test_add_func ("/page/watch-module", test_watch_module);
  g_test_add_func ("/page/presentation", test_presentation);
  return g_test_run ();
}
