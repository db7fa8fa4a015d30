/* The formats that `gradloom export` and Studio's export dialog write: one table, so that both have the same names,
 * suffixes and options. It has no functions that write: app/export-*.c has one for each format. */
#pragma once

#include <glib.h>

/* The options of formats, as bits, in the order of loom_export_option_name(). */
typedef enum
{
  LOOM_EXPORT_MODULE = 1 << 0,
  LOOM_EXPORT_DARK = 1 << 1,
  LOOM_EXPORT_TRANSPARENT = 1 << 2,
  LOOM_EXPORT_SCALE = 1 << 3,
  LOOM_EXPORT_SELECT = 1 << 4,
  LOOM_EXPORT_WEIGHTS = 1 << 5,
  LOOM_EXPORT_PARTIAL = 1 << 6,
  LOOM_EXPORT_SEED = 1 << 7,
  LOOM_EXPORT_INPUT = 1 << 8,
  LOOM_EXPORT_OUTPUT = 1 << 9,
  LOOM_EXPORT_SIZE = 1 << 10,
  LOOM_EXPORT_RAW = 1 << 11,
  LOOM_EXPORT_EXTERNAL_DATA = 1 << 12,
  LOOM_EXPORT_ADAPTER = 1 << 13,
  LOOM_EXPORT_PIXELS = 1 << 14,
  LOOM_EXPORT_ANSWERS = 1 << 15,
  LOOM_EXPORT_SLIDES = 1 << 16,
  LOOM_EXPORT_N_OPTIONS = 17
} LoomExportOptions;

/* What a format is made of. */
typedef enum
{
  LOOM_EXPORT_OF_GRAPH,  /* the graph alone; of a run's folder, the run's graph */
  LOOM_EXPORT_OF_EITHER, /* a graph with initial weights, or a run with its newest ones */
  LOOM_EXPORT_OF_RUN     /* a run */
} LoomExportSource;

typedef struct
{
  const char *name;      /* of --to */
  const char *title;     /* in Studio's dialog; marked for translation */
  const char *summary;   /* a noun phrase: what is written */
  const char *suffix[3]; /* of its files, the default first; ends with NULL */
  LoomExportSource source;
  LoomExportOptions options;
  gboolean draws;   /* the canvas as a picture */
  gboolean streams; /* also to standard output */
} LoomExportFormat;

/* NULL after the last one. */
const LoomExportFormat *loom_export_format (guint i);
/* NULL: there is none of this name. */
const LoomExportFormat *loom_export_format_find (const char *name);
/* TRUE if the name of a file has one of the format's suffixes. */
gboolean loom_export_format_fits (const LoomExportFormat *format, const char *file);
/* The name on the command line of option number i, from 0 to LOOM_EXPORT_N_OPTIONS - 1: "external-data". */
const char *loom_export_option_name (guint i);
