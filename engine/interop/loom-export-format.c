#include "engine/interop/loom-export-format.h"

#include <glib/gi18n.h>
#include <string.h>

/* What Studio and `gradloom export` draw of the canvas. */
#define PICTURE_OPTIONS                                                                                                \
  (LOOM_EXPORT_MODULE | LOOM_EXPORT_DARK | LOOM_EXPORT_TRANSPARENT | LOOM_EXPORT_SCALE | LOOM_EXPORT_SELECT)

static const LoomExportFormat formats[] = {
  { .name = "onnx",
    .title = N_ ("ONNX Model"),
    .summary = "an ONNX model with operator set 17",
    .suffix = { "onnx" },
    .source = LOOM_EXPORT_OF_EITHER,
    .options = LOOM_EXPORT_WEIGHTS | LOOM_EXPORT_PARTIAL | LOOM_EXPORT_SEED | LOOM_EXPORT_INPUT | LOOM_EXPORT_OUTPUT
               | LOOM_EXPORT_SIZE | LOOM_EXPORT_RAW | LOOM_EXPORT_EXTERNAL_DATA | LOOM_EXPORT_ADAPTER },
  { .name = "safetensors",
    .title = N_ ("Weights (safetensors)"),
    .summary = "the weights of a run, or of an imported graph, by PyTorch's names",
    .suffix = { "safetensors" },
    .source = LOOM_EXPORT_OF_EITHER,
    .options = LOOM_EXPORT_WEIGHTS | LOOM_EXPORT_ADAPTER },
  { .name = "pytorch",
    .title = N_ ("PyTorch Program"),
    .summary = "a Python file that trains the graph with PyTorch",
    .suffix = { "py" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .streams = TRUE },
  { .name = "report",
    .title = N_ ("Report of the Run"),
    .summary = "a report of a run as one HTML or PDF file",
    .suffix = { "html", "pdf" },
    .source = LOOM_EXPORT_OF_RUN },
  { .name = "svg",
    .title = N_ ("SVG Picture"),
    .summary = "an SVG drawing of the canvas",
    .suffix = { "svg" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .options = PICTURE_OPTIONS,
    .draws = TRUE },
  { .name = "pdf",
    .title = N_ ("PDF Picture"),
    .summary = "a PDF page of the same drawing",
    .suffix = { "pdf" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .options = PICTURE_OPTIONS,
    .draws = TRUE },
  { .name = "png",
    .title = N_ ("PNG Picture"),
    .summary = "a PNG picture, by default at twice the size",
    .suffix = { "png" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .options = PICTURE_OPTIONS | LOOM_EXPORT_PIXELS,
    .draws = TRUE },
  { .name = "dot",
    .title = N_ ("Graphviz File"),
    .summary = "a graphviz file, with modules as clusters",
    .suffix = { "dot" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .streams = TRUE },
  { .name = "handout",
    .title = N_ ("Handout"),
    .summary = "a lesson, or the views of a presentation, to be printed: pages, cards, formulas, space for answers",
    .suffix = { "pdf", "html" },
    .source = LOOM_EXPORT_OF_GRAPH,
    .options = LOOM_EXPORT_ANSWERS | LOOM_EXPORT_SLIDES },
};

static const char *const options[LOOM_EXPORT_N_OPTIONS] = {
  "module", "dark", "transparent", "scale",         "select",  "weights", "partial", "seed",   "input",
  "output", "size", "raw",         "external-data", "adapter", "pixels",  "answers", "slides",
};

const LoomExportFormat *
loom_export_format (guint i)
{
  return i < G_N_ELEMENTS (formats) ? &formats[i] : NULL;
}

const LoomExportFormat *
loom_export_format_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (strcmp (formats[i].name, name) == 0)
      return &formats[i];
  return NULL;
}

gboolean
loom_export_format_fits (const LoomExportFormat *format, const char *file)
{
  const char *dot = strrchr (file, '.');

  for (guint i = 0; dot != NULL && format->suffix[i] != NULL; i++)
    if (g_ascii_strcasecmp (dot + 1, format->suffix[i]) == 0)
      return TRUE;
  return FALSE;
}

const char *
loom_export_option_name (guint i)
{
  g_return_val_if_fail (i < LOOM_EXPORT_N_OPTIONS, NULL);
  return options[i];
}
