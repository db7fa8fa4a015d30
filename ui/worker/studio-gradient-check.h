/* Runs `gradloom check --gradcheck` on a graph in another process and reports its events as they come. */
#pragma once

#include <json-glib/json-glib.h>

#include <gio/gio.h>

#define STUDIO_TYPE_GRADIENT_CHECK (studio_gradient_check_get_type ())
G_DECLARE_FINAL_TYPE (StudioGradientCheck, studio_gradient_check, STUDIO, GRADIENT_CHECK, GObject)

/* Signals: "event"(JsonObject *) for each line of the program, and "ended"(const char *message) after the last one:
 * NULL, or the reason why it did not check everything. */
StudioGradientCheck *studio_gradient_check_new (void);
/* Checks these nodes, and those inside modules of these paths (up to NULL), with this batch size; a check that runs is
 * cancelled. graph_xml and folder are as for studio_planner_run_async(). */
void studio_gradient_check_start (StudioGradientCheck *self, const char *graph_xml, const char *folder,
                                  const char *const *nodes, gint64 batch);
/* Ends the process; "ended" is not emitted. */
void studio_gradient_check_cancel (StudioGradientCheck *self);
