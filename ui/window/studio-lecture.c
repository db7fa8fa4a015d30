/* A page knows the stop that it is; the order of tabs does not matter, and a closed tab is a stop that is skipped. */
#include "ui/window/studio-lecture.h"

#include <glib/gi18n.h>
#include <string.h>

#include "engine/lesson/loom-lecture.h"
#include "ui/page/open-documents.h"

#define STOP "gradloom-stop"

typedef struct
{
  char *lecture; /* the path of its list */
  char *title;   /* NULL: the graph's */
  int number, n; /* from 1; of all stops */
} Stop;

static void
stop_free (gpointer data)
{
  Stop *stop = data;

  g_free (stop->lecture);
  g_free (stop->title);
  g_free (stop);
}

static void
mark (StudioPage *page, const char *lecture, const LoomLectureStop *of, guint i, guint n)
{
  Stop *stop = g_new0 (Stop, 1);

  *stop = (Stop){ g_strdup (lecture), g_strdup (of->title), (int)i + 1, (int)n };
  g_object_set_data_full (G_OBJECT (page), STOP, stop, stop_free);
}

static gboolean
open_in (StudioPage *page, const char *path, gboolean is_example, GError **error)
{
  if (is_example)
    {
      g_autofree char *bare = g_strndup (path, strlen (path) - (g_str_has_suffix (path, ".xml") ? strlen (".xml") : 0));

      return studio_page_open_example (page, bare, error);
    }
  g_autoptr (GFile) file = g_file_new_for_path (path);
  return studio_page_open_file (page, file, error);
}

/* The page with this file if these tabs have it, else a new one. NULL with an error, as for a file that another window
 * has open: two pages of one file would overwrite each other's changes. */
static StudioPage *
page_of (StudioTabs *tabs, const char *path, gboolean is_example, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  GtkWidget *widget = is_example ? NULL : open_documents_find_page (file);
  StudioPage *current = studio_tabs_get_page (tabs);
  g_autoptr (StudioPage) page = NULL;

  if (widget != NULL && studio_tabs_find (STUDIO_PAGE (widget)) == tabs)
    {
      studio_tabs_show_page (tabs, STUDIO_PAGE (widget));
      return STUDIO_PAGE (widget);
    }
  if (widget != NULL)
    {
      g_autofree char *name = g_filename_display_basename (path);

      g_set_error (error, G_IO_ERROR, G_IO_ERROR_BUSY,
                   _ ("“%s” of the lecture is open in another window. Close it there, then open the lecture again."),
                   name);
      return NULL;
    }
  const gboolean here = current != NULL && studio_page_is_untouched (current);
  page = here ? g_object_ref (current) : g_object_ref_sink (studio_page_new ());
  if (!open_in (page, path, is_example, error))
    return NULL;
  if (!here)
    studio_tabs_insert_page (tabs, page);
  return page;
}

/* "Stop 2 of 7: Self-attention" */
static void
show_stop (StudioTabs *tabs, StudioPage *page, const Stop *stop)
{
  g_autofree char *own = studio_document_dup_title (studio_page_get_document (page));
  g_autofree char *sentence
      = g_strdup_printf (_ ("Stop %1$d of %2$d: %3$s"), stop->number, stop->n, stop->title != NULL ? stop->title : own);

  studio_tabs_show_page (tabs, page);
  studio_page_toast (page, sentence);
}

static gboolean
open_stops (StudioTabs *tabs, const LoomLecture *lecture, const char *path, gboolean is_example, GError **error)
{
  StudioPage *first = NULL;

  for (guint i = 0; i < lecture->stops->len; i++)
    {
      const LoomLectureStop *stop = lecture->stops->pdata[i];
      StudioPage *page = page_of (tabs, stop->path, is_example, error);

      if (page == NULL)
        return FALSE;
      mark (page, path, stop, i, lecture->stops->len);
      first = i == 0 ? page : first;
    }
  show_stop (tabs, first, g_object_get_data (G_OBJECT (first), STOP));
  return TRUE;
}

gboolean
studio_lecture_open (StudioTabs *tabs, GFile *file, GError **error)
{
  g_autofree char *path = g_file_get_path (file);
  g_autoptr (LoomLecture) lecture = path != NULL ? loom_lecture_read (path, error) : NULL;

  if (path == NULL)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, _ ("The lecture is not a file of this machine."));
  return lecture != NULL && open_stops (tabs, lecture, path, FALSE, error);
}

gboolean
studio_lecture_open_example (StudioTabs *tabs, const char *name, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/org/gradloom/Studio/examples/%s.lecture", name);
  g_autoptr (GBytes) bytes = g_resources_lookup_data (path, G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  g_autoptr (LoomLecture) lecture
      = bytes != NULL ? loom_lecture_read_data (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), path, error)
                      : NULL;

  return lecture != NULL && open_stops (tabs, lecture, path, TRUE, error);
}

static void
move (StudioTabs *tabs, int by)
{
  StudioPage *current = studio_tabs_get_page (tabs), *next = NULL;
  const Stop *here = current != NULL ? g_object_get_data (G_OBJECT (current), STOP) : NULL, *there = NULL;

  for (guint i = 0; here != NULL && i < studio_tabs_n_pages (tabs); i++)
    {
      StudioPage *page = studio_tabs_get_nth_page (tabs, i);
      const Stop *stop = g_object_get_data (G_OBJECT (page), STOP);

      if (stop != NULL && g_str_equal (stop->lecture, here->lecture) && by * (stop->number - here->number) > 0
          && (there == NULL || by * (stop->number - there->number) < 0))
        {
          next = page;
          there = stop;
        }
    }
  if (next != NULL)
    show_stop (tabs, next, there);
}

void
studio_lecture_next (StudioTabs *tabs)
{
  move (tabs, 1);
}

void
studio_lecture_previous (StudioTabs *tabs)
{
  move (tabs, -1);
}
