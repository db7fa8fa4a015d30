/* Queries of data sets in threads, because data may be large, on a slow disk, or missing. */
#pragma once

#include <gio/gio.h>

#include "engine/data/loom-csv-guess.h"
#include "ui/scene/studio-figure.h"

/* What is known about a data set with its options. */
typedef struct
{
  gboolean is_here;     /* its data are on this machine */
  char *sentence;       /* what is missing and which package provides it; NULL: nothing */
  LoomDatasetInfo info; /* n_ports is 0 if even the ports are unknown */
  StudioFigure *figure; /* a sample; may be NULL */
} StudioDataInfo;

void studio_data_info_free (StudioDataInfo *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioDataInfo, studio_data_info_free)

/* options: name, value, …, NULL. */
void studio_data_inspect_async (const char *source, const char *const *options, GCancellable *cancellable,
                                GAsyncReadyCallback callback, gpointer data);
/* NULL: cancelled. (transfer full) */
StudioDataInfo *studio_data_inspect_finish (GAsyncResult *result);
/* "B × 1 × 28 × 28 · a class of 10 · 60,000 to train on". (transfer full) */
char *studio_data_info_text (const StudioDataInfo *look);

/* Makes the text of a graph for the data with loom_template_from_data(). data is copied. */
void studio_data_make_async (const LoomTemplateData *data, GCancellable *cancellable, GAsyncReadyCallback callback,
                             gpointer user_data);
char *studio_data_make_finish (GAsyncResult *result, GError **error);

/* Runs loom_csv_guess_file(). */
void studio_csv_guess_async (const char *path, char delimiter, int has_header, GCancellable *cancellable,
                             GAsyncReadyCallback callback, gpointer data);
LoomCsvGuess *studio_csv_guess_finish (GAsyncResult *result, GError **error);
