/* Lets widgets come to rest. */
#pragma once

#include <gtk/gtk.h>

/* Serves events until the condition holds, for five minutes at most, which only what hangs takes. */
#define SERVE_UNTIL(condition)                                                                                         \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    for (const gint64 end_ = g_get_monotonic_time () + 300 * G_USEC_PER_SEC;                                           \
         !(condition) && g_get_monotonic_time () < end_; g_usleep (1000))                                              \
      while (g_main_context_iteration (NULL, FALSE))                                                                   \
        ;                                                                                                              \
    g_assert_true (condition);                                                                                         \
  }                                                                                                                    \
  G_STMT_END

/* Serves events for this time, which animations and delays need, and then until every window has drawn two frames: on a
 * busy machine the frame that shows a change is late. */
static inline void
settle (int milliseconds)
{
  const gint64 end = g_get_monotonic_time () + milliseconds * G_TIME_SPAN_MILLISECOND;
  GListModel *windows = gtk_window_get_toplevels ();

  SERVE_UNTIL (g_get_monotonic_time () >= end);
  for (int frame = 0; frame < 2; frame++)
    for (guint i = 0; i < g_list_model_get_n_items (windows); i++)
      {
        g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
        GdkFrameClock *clock = gtk_widget_get_mapped (window) ? gtk_widget_get_frame_clock (window) : NULL;

        if (clock == NULL)
          continue;
        const gint64 before = gdk_frame_clock_get_frame_counter (clock);
        gdk_frame_clock_request_phase (clock, GDK_FRAME_CLOCK_PHASE_PAINT);
        SERVE_UNTIL (!gtk_widget_get_mapped (window) || gdk_frame_clock_get_frame_counter (clock) > before);
      }
}
