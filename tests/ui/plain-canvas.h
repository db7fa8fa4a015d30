/* A widget with the class actions of canvases and nothing else, which neither places nor draws a child, on a document
 * with a chain of cards. */
#pragma once

#include "tests/ui/document-chain.h"
#include "tests/ui/document-test.h"
#include "ui/canvas/canvas-view.h"

typedef struct
{
  StudioDocument *document;
  StudioScene *scene;
  GtkWidget *window, *widget;
} Fixture;

void set_up (Fixture *f, gconstpointer data);
void tear_down (Fixture *f, gconstpointer data);
/* Lets 60 ms pass. */
void rest (void);
guint item (Fixture *f, const char *id);
guint64 serial (Fixture *f, const char *id);
/* TRUE if something was drawn. Frees the snapshot. */
gboolean draws (GtkSnapshot *snapshot);

/* Counts changes of a view. */
typedef struct
{
  guint n, n_zoomed;
} Changes;

void changed_cb (gboolean zoomed, gpointer data);
