/* `--to svg`, `pdf`, `png`: the graph as Studio's canvas draws it, without a display. */
#include "app/export-target.h"

#include <stdio.h>

#ifdef GRADLOOM_PICTURES
#include "ui/drawing/studio-picture.h"

static int
run (ExportJob *job, const char *suffix)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = job->file != NULL ? g_strdup (job->file) : export_default_file (job, suffix);

  g_autoptr (StudioScene) scene = studio_picture_scene (job->graph, job->module, &error);
  if (scene == NULL || !studio_picture_write (scene, file, job->dark, !job->transparent, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  g_autofree char *shown = command_printable (file);
  printf ("wrote %s\n", shown);
  return 0;
}
#else
static int
run (ExportJob *job, const char *suffix)
{
  return command_usage (job->command,
                        "This gradloom was built without Pango and librsvg and cannot write %s. Use --to dot.", suffix);
}
#endif

static int
run_svg (ExportJob *job)
{
  return run (job, "svg");
}

static int
run_pdf (ExportJob *job)
{
  return run (job, "pdf");
}

static int
run_png (ExportJob *job)
{
  return run (job, "png");
}

const ExportTarget export_svg
    = { .name = "svg", .suffix = "svg", .summary = "an SVG drawing of the canvas", .draws = TRUE, .run = run_svg };
const ExportTarget export_pdf
    = { .name = "pdf", .suffix = "pdf", .summary = "a PDF page of the same drawing", .draws = TRUE, .run = run_pdf };
const ExportTarget export_png
    = { .name = "png", .suffix = "png", .summary = "a PNG picture at twice the size", .draws = TRUE, .run = run_png };
