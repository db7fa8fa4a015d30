/* Rows that pages of the dialog share. */
#pragma once

#include <adwaita.h>

#include "ui/scene/studio-figure.h"

G_BEGIN_DECLS

/* A picture of a sample: a figure as cards draw it, or nothing while there is none. */
GtkWidget *studio_sample_new (int width, int height);
void studio_sample_set (GtkWidget *sample, StudioFigure *figure);

/* A field for a path with a button that chooses a file; folder: a folder may be meant. */
GtkWidget *studio_path_row_new (const char *title);

/* Radio buttons for kinds of networks, the first of them chosen. */
typedef struct
{
  GtkWidget *group; /* an AdwPreferencesGroup */
  GPtrArray *rows;
  const char *chosen; /* name of the kind; NULL: there is none */
} StudioKinds;

void studio_kinds_init (StudioKinds *self);
/* kinds NULL-terminated; the chosen one stays where it is among them. */
void studio_kinds_set (StudioKinds *self, const LoomTemplateKind *const *kinds);
void studio_kinds_clear (StudioKinds *self);

G_END_DECLS
