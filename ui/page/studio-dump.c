/* Prints texts and rectangles of all visible widgets, for the end-to-end tests. */
#include "ui/page/studio-dump.h"

#include <glib-unix.h>
#include <stdio.h>

#include "ui/charts/studio-chart.h"
#include "ui/evaluate/studio-confusion.h"
#include "ui/evaluate/studio-eval-chart.h"
#include "ui/timeline/studio-timeline.h"
#include "ui/task/studio-task-view.h"

static GString *dump;

void
studio_dump_print (const char *format, ...)
{
  va_list arguments;

  if (dump == NULL)
    dump = g_string_new (NULL);
  va_start (arguments, format);
  g_string_append_vprintf (dump, format, arguments);
  va_end (arguments);
}

void
studio_dump_end (void)
{
  studio_dump_print ("geometry end\n");
  fwrite (dump->str, 1, dump->len, stderr);
  fflush (stderr);
  g_string_truncate (dump, 0);
}

void
studio_dump_rect (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect)
{
  GtkNative *window = gtk_widget_get_native (from);
  double x, y, dx, dy;
  gtk_native_get_surface_transform (window, &dx, &dy);
  if (!gtk_widget_translate_coordinates (from, GTK_WIDGET (window), rect->origin.x, rect->origin.y, &x, &y))
    return;
  for (GdkSurface *at = gtk_native_get_surface (window); GDK_IS_POPUP (at); at = gdk_popup_get_parent (GDK_POPUP (at)))
    {
      dx += gdk_popup_get_position_x (GDK_POPUP (at));
      dy += gdk_popup_get_position_y (GDK_POPUP (at));
    }
  studio_dump_print ("geometry %s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\n", what, name, x + dx, y + dy, rect->size.width,
                     rect->size.height);
}

static const char *
words_of (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    return gtk_label_get_text (GTK_LABEL (widget));
  if (GTK_IS_EDITABLE (widget))
    {
      const char *text = gtk_editable_get_text (GTK_EDITABLE (widget));
      return *text != '\0' ? text : "(empty)";
    }
  /* The window's close button has neither a label nor a tooltip. */
  if (GTK_IS_BUTTON (widget) && gtk_widget_has_css_class (widget, "close"))
    return "Close";
  if (STUDIO_IS_TASK_VIEW (widget))
    return studio_task_view_get_description (STUDIO_TASK_VIEW (widget));
  if (STUDIO_IS_CONFUSION (widget))
    return studio_confusion_get_description (STUDIO_CONFUSION (widget));
  if (STUDIO_IS_CHART (widget))
    return studio_chart_get_label (STUDIO_CHART (widget));
  if (STUDIO_IS_EVAL_CHART (widget))
    return studio_eval_chart_get_description (STUDIO_EVAL_CHART (widget));
  if (STUDIO_IS_TIMELINE (widget))
    return "timeline";
  /* A menu or list that is open, whatever it contains. */
  if (GTK_IS_POPOVER (widget))
    return "popover";
  /* It covers the widgets below it. */
  if (g_str_equal (gtk_widget_get_css_name (widget), "toast"))
    return "toast";
  return gtk_widget_get_tooltip_text (widget);
}

static void
dump_widget (GtkWidget *widget)
{
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget))
    return;
  const char *words = words_of (widget);
  if (words != NULL && *words != '\0')
    {
      graphene_rect_t rect;
      graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (widget), (float)gtk_widget_get_height (widget));
      g_autofree char *one_line = g_strdelimit (g_strdup (words), "\n\t", ' ');
      studio_dump_rect (G_OBJECT_TYPE_NAME (widget), one_line, widget, &rect);
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    dump_widget (child);
}

void
studio_dump_widgets (GtkNative *window)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (window));
  graphene_rect_t rect;

  dump_widget (GTK_WIDGET (window));
  if (focus == NULL || !gtk_widget_get_mapped (focus))
    return;
  graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (focus), (float)gtk_widget_get_height (focus));
  studio_dump_rect ("focus", G_OBJECT_TYPE_NAME (focus), focus, &rect);
}

/* The window with the keyboard. The desktop's file dialog is one that the application does not know. */
static GtkWindow *
active_window (GtkApplication *application)
{
  GListModel *toplevels = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (toplevels); i++)
    {
      g_autoptr (GtkWindow) window = g_list_model_get_item (toplevels, i);
      if (gtk_widget_get_mapped (GTK_WIDGET (window)) && gtk_window_is_active (window))
        return window; /* the list holds a reference */
    }
  return gtk_application_get_active_window (application);
}

/* A window with an action of this name prints more than its widgets. */
static void
dump_active (GtkApplication *application)
{
  GtkWindow *window = active_window (application);
  if (window != NULL && gtk_widget_activate_action (GTK_WIDGET (window), "win.dump-geometry", NULL))
    return;
  if (window != NULL && gtk_widget_get_mapped (GTK_WIDGET (window)))
    studio_dump_widgets (GTK_NATIVE (window));
  studio_dump_end ();
}

/* A pending frame. The window may be destroyed before the frame is drawn. */
typedef struct
{
  GtkApplication *application;
  GtkWindow *window;
  GdkFrameClock *clock;
  gulong painted, unmapped;
} Frame;

static gboolean input_handled_cb (gpointer data);

static GtkApplication *
frame_free (Frame *frame)
{
  GtkApplication *application = frame->application;

  g_signal_handler_disconnect (frame->clock, frame->painted);
  g_signal_handler_disconnect (frame->window, frame->unmapped);
  g_object_unref (frame->clock);
  g_object_unref (frame->window);
  g_free (frame);
  return application;
}

static void
painted_cb (GdkFrameClock *clock, Frame *frame)
{
  dump_active (frame_free (frame));
}

static void
unmapped_cb (GtkWidget *window, Frame *frame)
{
  g_idle_add_full (GDK_PRIORITY_EVENTS + 10, input_handled_cb, frame_free (frame), NULL);
}

static gboolean
input_handled_cb (gpointer data)
{
  GtkApplication *application = data;
  GtkWindow *window = active_window (application);

  if (window == NULL || !gtk_widget_get_mapped (GTK_WIDGET (window)))
    {
      dump_active (application);
      return G_SOURCE_REMOVE;
    }
  Frame *frame = g_new0 (Frame, 1);
  frame->application = application;
  frame->window = g_object_ref (window);
  frame->clock = g_object_ref (gtk_widget_get_frame_clock (GTK_WIDGET (window)));
  frame->painted = g_signal_connect (frame->clock, "after-paint", G_CALLBACK (painted_cb), frame);
  frame->unmapped = g_signal_connect (window, "unmap", G_CALLBACK (unmapped_cb), frame);
  gdk_frame_clock_request_phase (frame->clock, GDK_FRAME_CLOCK_PHASE_AFTER_PAINT);
  return G_SOURCE_REMOVE;
}

/* Events have priority over the idle function, and layout and painting do not, so a busy window cannot starve it. */
static gboolean
signalled_cb (gpointer data)
{
  g_idle_add_full (GDK_PRIORITY_EVENTS + 10, input_handled_cb, data, NULL);
  return G_SOURCE_CONTINUE;
}

void
studio_dump_on_signal (GtkApplication *application)
{
  g_unix_signal_add (SIGUSR2, signalled_cb, application);
}
