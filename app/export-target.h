/* The targets of `gradloom export`: one descriptor per target, listed in command-export.c. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* One export, as requested on the command line. */
typedef struct
{
  const Command *command;
  const char *path; /* GRAPH or RUN as typed */
  LoomGraph *graph; /* NULL if the target draws */
  char *file;       /* -o; NULL: the target's own choice, see export_default_file() */
  char *weights;    /* --weights, or the run's; NULL: initial values */
  gboolean partial, raw, external_data;
  char **inputs, **outputs; /* --input, --output; may be NULL */
  LoomBinding sizes;        /* --size */
  gint64 seed;              /* -1: that of <train> */
  char *module;             /* --module; NULL: the outermost scope */
  gboolean dark, transparent;
} ExportJob;

typedef struct
{
  const char *name; /* of --to */
  const char *summary;
  const char *suffix;          /* of its files */
  gboolean needs_weights;      /* a run's newest weights are used if --weights is not given */
  gboolean draws;              /* supports --module, --dark and --transparent */
  gboolean streams;            /* supports -o - (standard output) */
  int (*run) (ExportJob *job); /* returns the exit status */
} ExportTarget;

extern const ExportTarget export_dot, export_onnx, export_pdf, export_png, export_pytorch, export_svg;

/* "dir/model.xml" → "model.SUFFIX" in the current folder; for a run, the name of its folder. */
char *export_default_file (const ExportJob *job, const char *suffix);

G_END_DECLS
