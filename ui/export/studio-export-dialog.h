/* The dialog that exports a graph or its run: format, options, file, progress. */
#pragma once

#include <adwaita.h>

#include "ui/drawing/studio-picture.h"

/* The part of the canvas that a picture shows. */
typedef enum
{
  STUDIO_EXPORT_ALL,
  STUDIO_EXPORT_SELECTION,
  STUDIO_EXPORT_VISIBLE,
  STUDIO_EXPORT_N_PARTS
} StudioExportPart;

/* What is exported, by functions of its owner, who outlives the dialog. */
typedef struct
{
  /* The text of the graph for another process; NULL with a sentence if it may have none. */
  char *(*dup_graph) (gpointer owner, GError **error);
  const char *(*get_folder) (gpointer owner); /* of its relative paths; NULL: none */
  const char *(*get_run) (gpointer owner);    /* the folder of its run with weights; NULL: there is none */
  gboolean (*has_selection) (gpointer owner); /* cards are selected */
  guint (*count_pins) (gpointer owner);       /* pins with values on the canvas */
  StudioScene *(*new_scene) (gpointer owner, gboolean only_selected); /* (transfer full) */
  StudioRect (*get_visible) (gpointer owner);                         /* in canvas units */
  /* Makes room for pins in the scene and sets draw_more and data; *free_data frees the data. */
  void (*add_pins) (gpointer owner, StudioScene *scene, StudioPictureOptions *options, GDestroyNotify *free_data);
  void (*saved) (gpointer owner, const char *path);
  gpointer owner;
} StudioExportSubject;

#define STUDIO_TYPE_EXPORT_DIALOG (studio_export_dialog_get_type ())
G_DECLARE_FINAL_TYPE (StudioExportDialog, studio_export_dialog, STUDIO, EXPORT_DIALOG, AdwWindow)

/* stem: the proposed file without its suffix. */
StudioExportDialog *studio_export_dialog_new (GtkWindow *parent, const StudioExportSubject *subject, const char *stem);
