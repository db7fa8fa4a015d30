/* The widget that edits the <train> element of a document: how the graph is trained. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_TRAINING_SETTINGS (studio_training_settings_get_type ())
G_DECLARE_FINAL_TYPE (StudioTrainingSettings, studio_training_settings, STUDIO, TRAINING_SETTINGS, GtkWidget)

/* Signal "sweep" (const char *attribute, char **values): several values of an attribute of <train> were typed, as
 * "0.001, 0.01, 0.1", each to be trained with once. The document does not change. */
StudioTrainingSettings *studio_training_settings_new (StudioDocument *document);

/* A field for the number of ranks, which is the run's and not the graph's; shown with the other settings of ranks. */
void studio_training_settings_set_ranks (StudioTrainingSettings *self, GtkWidget *field);

/* A widget above the settings: the numbers of a run that trains. */
void studio_training_settings_set_live (StudioTrainingSettings *self, GtkWidget *widget);

/* Adds a <train> element if there is none: the graph's loss, Adam, and accuracy if the loss is cross-entropy. One
 * transaction. FALSE with an error if there is no loss to train. */
gboolean studio_training_ensure (StudioDocument *document, GError **error);
/* Sets or (value NULL) removes an attribute of <train>, which is added as above if needed. */
void studio_training_set (StudioDocument *document, const char *attribute, const char *value);
/* The same for <parallel>, which is added to <train> or, without attributes, removed. Without <train>, nothing. */
void studio_training_set_parallel (StudioDocument *document, const char *attribute, const char *value);
/* The path of the loss node; NULL: none. */
char *studio_training_dup_loss_path (StudioDocument *document);
