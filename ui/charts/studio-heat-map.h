/* The widget that shows a matrix as colours: attention weights, activations, weights. */
#pragma once

#include <gtk/gtk.h>

#include "ui/charts/studio-plot.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_HEAT_MAP (studio_heat_map_get_type ())
G_DECLARE_FINAL_TYPE (StudioHeatMap, studio_heat_map, STUDIO, HEAT_MAP, GtkWidget)

StudioHeatMap *studio_heat_map_new (void);
/* value is [rows, columns], row major, copied. what: "attention"; where: "head 1" or NULL; step: of the value, and
 * when: the step as text. */
void studio_heat_map_set (StudioHeatMap *self, const char *what, const char *where, gint64 step, const char *when,
                          guint rows, guint columns, const float *values);
/* Shows an empty frame with this caption. */
void studio_heat_map_clear (StudioHeatMap *self, const char *what);
gboolean studio_heat_map_get_range (StudioHeatMap *self, double *min, double *max);
gint64 studio_heat_map_get_step (StudioHeatMap *self); /* -1: empty */
const char *studio_heat_map_get_caption (StudioHeatMap *self);
void studio_heat_map_set_map_height (StudioHeatMap *self, int pixels); /* of the map without caption and labels */
void studio_heat_map_set_text_scale (StudioHeatMap *self, double scale);
/* By extension: .svg, .pdf, .png, or .csv (one line per row). */
gboolean studio_heat_map_export (StudioHeatMap *self, const char *path, GError **error);

G_END_DECLS
