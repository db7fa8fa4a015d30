/* `--to svg`, `pdf`, `png`: the graph as Studio's canvas draws it, without a display.
 *
 * The program gradloom-picture does it: its libraries for text and drawing take as long to link at a start as all
 * others together, and few starts draw. */
#include "app/export-target.h"

#include "app/shared/sibling.h"

#ifdef GRADLOOM_PICTURES
/* The folders of a build and of a relocated installation (gradloom-lab is in the same), and of the configured one. */
static const char *const folders[] = { ".", "../" LABORATORY_FOLDER, LABORATORY_DIR, NULL };

static int
run (ExportJob *job, const char *suffix)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = job->file != NULL ? g_strdup (job->file) : export_default_file (job, suffix);
  const char *const words[] = {
    job->path, file, job->dark ? "dark" : "light", job->transparent ? "transparent" : "opaque", job->module, NULL
  };

  sibling_become ("gradloom-picture", folders, words, &error);
  return command_fail (job->command, g_steal_pointer (&error));
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
