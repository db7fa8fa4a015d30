/* Rows shared by the pages of the dialog. */
#pragma once

#include <adwaita.h>

#include "ui/scene/studio-figure.h"

/* A widget for the figure of a sample; empty without one. */
GtkWidget *studio_sample_new (int width, int height);
void studio_sample_set (GtkWidget *sample, StudioFigure *figure);

/* A button of an AdwEntryRow for a path, which opens a file chooser. */
void studio_path_row_add_button (GtkWidget *row);

/* Radio buttons for kinds of networks; the first is selected. */
typedef struct
{
  GtkWidget *group; /* an AdwPreferencesGroup */
  GPtrArray *rows;
  const char *chosen; /* name of the selected kind; NULL: none */
} StudioKinds;

void studio_kinds_init (StudioKinds *self);
/* kinds is NULL-terminated; the selected one stays selected if it is among them. */
void studio_kinds_set (StudioKinds *self, const LoomTemplateKind *const *kinds);
void studio_kinds_clear (StudioKinds *self);
