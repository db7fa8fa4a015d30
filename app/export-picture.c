/* `--to svg`, `pdf`, `png`, `report` and `handout`: the graph as Studio's canvas draws it, and a run or a lesson as
 * pages, without a display.
 *
 * The program gradloom-picture does it: its libraries for text and drawing take as long to link at a start as all
 * others together, and few starts draw. */
#include "app/export-target.h"

#include "app/shared/sibling.h"

#ifdef GRADLOOM_PICTURES
/* The folders of a build and of a relocated installation (gradloom-lab is in the same), and of the configured one. */
static const char *const folders[] = { ".", "../" LABORATORY_FOLDER, LABORATORY_DIR, NULL };

static void
add (GPtrArray *words, const char *name, const char *value)
{
  if (value != NULL)
    g_ptr_array_add (words, g_strconcat (name, value, NULL));
}

static int
draw (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *file = export_file (job);
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  char scale[G_ASCII_DTOSTR_BUF_SIZE], pixels[16];

  add (words, job->format->draws ? "picture" : job->format->name, "");
  add (words, job->path, "");
  add (words, file, "");
  add (words, "module=", job->module);
  add (words, "scale=", job->scale > 0 ? g_ascii_dtostr (scale, sizeof scale, job->scale) : NULL);
  g_snprintf (pixels, sizeof pixels, "%d", job->pixels);
  add (words, "pixels=", job->pixels > 0 ? pixels : NULL);
  add (words, "dark", job->dark ? "" : NULL);
  add (words, "transparent", job->transparent ? "" : NULL);
  add (words, "answers", job->answers ? "" : NULL);
  add (words, "slides", job->slides ? "" : NULL);
  add (words, "json", job->json ? "" : NULL);
  for (guint i = 0; job->select != NULL && job->select[i] != NULL; i++)
    add (words, "select=", job->select[i]);
  g_ptr_array_add (words, NULL);
  sibling_become ("gradloom-picture", folders, (const char *const *)words->pdata, &error);
  return command_fail (job->command, g_steal_pointer (&error));
}
#else
static int
draw (ExportJob *job)
{
  return command_usage (job->command,
                        "This gradloom was built without Pango and librsvg and cannot write %s. Use --to dot.",
                        job->format->name);
}
#endif

const ExportTarget export_svg = { .format = "svg", .reads = TRUE, .run = draw };
const ExportTarget export_pdf = { .format = "pdf", .reads = TRUE, .run = draw };
const ExportTarget export_png = { .format = "png", .reads = TRUE, .run = draw };
const ExportTarget export_handout = { .format = "handout", .reads = TRUE, .run = draw };
const ExportTarget export_report = { .format = "report", .reads = TRUE, .run = draw };
