/* The vtable of a pin kind: how the value of a pinned tensor is drawn under its card.
 *
 * A kind is one entry of the table in studio-pin-kind.c; its widget may be in ui/charts. Pins (studio-pin.c), the
 * graph's <view> and the tests use kinds only through this struct. */
#pragma once

#include <gtk/gtk.h>

#include "engine/loom.h"
#include "ui/charts/studio-heat-map.h"

G_BEGIN_DECLS

/* One value of a pinned tensor, as the worker sent it: f32, row major, possibly a part of the tensor or reduced. */
typedef struct
{
  const char *tensor; /* its name */
  gint64 step;        /* of the value */
  const char *when;   /* the step for display: "step 840", "after step 840" */
  gsize rank;         /* of the value as sent */
  const gint64 *dims; /* [rank] */
  gsize full_rank;    /* of the tensor; of its leading dimensions only element 0 was sent */
  const float *values;
  gsize n_values; /* the product of dims */
  /* (optional) Labels of the rows and columns of the last two dimensions. */
  const char *const *row_labels, *const *column_labels;
} StudioPinValue;

typedef struct
{
  const char *name; /* the attribute kind="…" of a <pin>; unique */
  int height;       /* of a new pin, in pixels */
  /* TRUE if a new pin of a tensor of this type should have this kind; the first matching entry is used. NULL: any type.
   */
  gboolean (*suits) (const LoomType *type);
  /* Returns an empty widget (floating) for a pin of this height, with an accessible label. */
  GtkWidget *(*create) (int height);
  void (*show) (GtkWidget *widget, const StudioPinValue *value);
  /* Shows only the caption, because no value is known. */
  void (*clear) (GtkWidget *widget, const char *tensor);
  /* (optional) Scales the text for presentations. */
  void (*set_text_scale) (GtkWidget *widget, double scale);
  /* (optional) Returns the map that "Export Map" writes to a file. */
  StudioHeatMap *(*get_map) (GtkWidget *widget);
} StudioPinKind;

guint studio_pin_n_kinds (void);
const StudioPinKind *studio_pin_kind (guint i);
/* By name. NULL and unknown names return the kind that accepts any tensor. */
const StudioPinKind *studio_pin_kind_find (const char *name);
/* The kind of a new pin. type: NULL if type inference failed. */
const StudioPinKind *studio_pin_kind_for (const LoomType *type);

G_END_DECLS
