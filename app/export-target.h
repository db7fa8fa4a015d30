/* The targets of `gradloom export`: one descriptor per target, listed in command-export.c. */
#pragma once

#include "app/shared/command.h"
#include "engine/interop/loom-export-format.h"

/* One export, as requested on the command line. */
typedef struct
{
  const Command *command;
  const LoomExportFormat *format;
  const char *path;  /* GRAPH or RUN as typed */
  LoomGraph *graph;  /* NULL if another program reads it */
  char *file;        /* -o; NULL: the target's own choice, see export_default_file() */
  char *weights;     /* --weights, or the run's; NULL: initial values */
  char *adapter;     /* --adapter; may be NULL */
  GPtrArray *values; /* LoomNamedTensor: the weights with factors of LoRA added; NULL: those of the file */
  gboolean partial, raw, external_data;
  char **inputs, **outputs; /* --input, --output; may be NULL */
  LoomBinding sizes;        /* --size */
  gint64 seed;              /* -1: that of <train> */
  char *module;             /* --module; NULL: the outermost scope */
  char **select;            /* --select: nodes to draw; NULL: all */
  double scale;             /* --scale; 0: the format's own */
  int pixels;               /* --pixels: of the longer side; 0: what the scale gives */
  gboolean dark, transparent, answers, slides;
  gboolean json; /* progress and files as JSON objects, a line each */
} ExportJob;

typedef struct
{
  const char *format;          /* the name of a LoomExportFormat */
  gboolean reads;              /* another program reads the graph */
  int (*run) (ExportJob *job); /* returns the exit status */
} ExportTarget;

extern const ExportTarget export_dot, export_handout, export_onnx, export_pdf, export_png, export_pytorch,
    export_report, export_safetensors, export_svg;

/* "dir/model.xml" → "model.SUFFIX" in the current folder; for a run, the name of its folder. (transfer full) */
char *export_default_file (const ExportJob *job, const char *suffix);
/* The file to write: -o, else the default with the format's first suffix. (transfer full) */
char *export_file (const ExportJob *job);
/* Reports a finished part of a long export, from 0 to 1, with --json. */
void export_progress (const ExportJob *job, double done);
/* Reports a written file: “wrote FILE”, or an event. */
void export_wrote (const ExportJob *job, const char *file);
