/* How the graph is trained: its <train> element, edited through the document. */
#pragma once

#include <gtk/gtk.h>

#include "ui/document/studio-document.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_TRAINING_SETTINGS (studio_training_settings_get_type ())
G_DECLARE_FINAL_TYPE (StudioTrainingSettings, studio_training_settings, STUDIO, TRAINING_SETTINGS, GtkWidget)

StudioTrainingSettings *studio_training_settings_new (StudioDocument *document);

/* Gives the graph a <train> element if it has none: the graph's loss, Adam, and accuracy where the loss is cross
 * entropy. One transaction. FALSE with a sentence when there is no loss to train. */
gboolean studio_training_ensure (StudioDocument *document, GError **error);
/* Sets or (value NULL) removes an attribute of <train>, which is made as above when it is not there. */
void studio_training_set (StudioDocument *document, const char *attribute, const char *value);
/* The path of the node whose loss is trained; NULL when there is none. */
char *studio_training_dup_loss_path (StudioDocument *document);

G_END_DECLS
