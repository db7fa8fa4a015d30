/* The kinds of pins: how a watched tensor is drawn under its card.
 *
 * A kind is one entry of the table in studio-pin-kind.c and brings its functions along; the widget that it fills may
 * stand in ui/charts. Pins (studio-pin.c), the graph's <view> and the tests know kinds through this struct alone. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"
#include "ui/charts/studio-heat-map.h"

G_BEGIN_DECLS

/* One value of a watched tensor, as the worker sent it: f32, row major, perhaps a part or a coarser picture of it. */
typedef struct
{
  const char *tensor; /* its name */
  gint64 step;        /* the training step it belongs to */
  const char *when;   /* the same in words: "step 840", "after step 840" */
  gsize rank;         /* of what was sent */
  const gint64 *dims; /* [rank] */
  gsize full_rank;    /* of the tensor itself: leading dimensions that were sent as their first element are gone */
  const float *values;
  gsize n_values; /* the product of dims */
  /* (optional) What the rows and the columns of the last two dimensions stand for. */
  const char *const *row_words, *const *column_words;
} StudioPinValue;

typedef struct
{
  const char *name; /* kind="…" of a <pin>; unique */
  int height;       /* pixels of a new pin */
  /* TRUE when a new pin of such a tensor has this kind; the first entry that says so is taken. NULL: of any tensor. */
  gboolean (*suits) (const LoomType *type);
  /* The widget (floating), empty, in a pin so many pixels high. Its accessible label says what it shows. */
  GtkWidget *(*create) (int height);
  void (*show) (GtkWidget *widget, const StudioPinValue *value);
  /* No value is known: the caption alone. */
  void (*clear) (GtkWidget *widget, const char *tensor);
  /* (optional) Larger text for a class. */
  void (*set_text_scale) (GtkWidget *widget, double scale);
  /* (optional) The map in the widget, which "Export Map" writes to a file. */
  StudioHeatMap *(*get_map) (GtkWidget *widget);
} StudioPinKind;

guint studio_pin_n_kinds (void);
const StudioPinKind *studio_pin_kind (guint i);
/* By name. A name that this program does not know, or NULL, is drawn as the kind that takes any tensor. */
const StudioPinKind *studio_pin_kind_find (const char *name);
/* The kind of a new pin. type: NULL where inference found none. */
const StudioPinKind *studio_pin_kind_for (const LoomType *type);

G_END_DECLS
