/* Reads lectures by GLib's parser, which knows no document types and no entities of a file's own. */
#include "engine/lesson/loom-lecture.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-folder.h"
#include "engine/core/loom-text.h"

#include <stdlib.h>
#include <string.h>

#define NAMESPACE  "urn:gradloom:lecture"
#define MOST_BYTES    65536
#define MOST_SENTENCE 400 /* characters of an error */

typedef struct
{
  LoomLecture *lecture;
  const char *folder; /* without symbolic links; NULL: files are not looked for */
  gboolean has_begun;
} Reader;

static void
stop_free (gpointer data)
{
  LoomLectureStop *stop = data;

  g_free (stop->title);
  g_free (stop->path);
  g_free (stop);
}

void
loom_lecture_free (LoomLecture *lecture)
{
  if (lecture == NULL)
    return;
  g_free (lecture->title);
  g_ptr_array_unref (lecture->stops);
  g_free (lecture);
}

/* The path without symbolic links, if the file exists and is in the folder; else NULL. */
static char *
inside (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *real = g_path_is_absolute (name) ? NULL : loom_os->real_path (path);
  const gsize n = strlen (folder);

  if (real == NULL || strncmp (real, folder, n) != 0 || (real[n] != '/' && !g_str_has_suffix (folder, "/"))
      || !loom_path_is_file (real))
    return NULL;
  return g_steal_pointer (&real);
}

static void
add_stop (Reader *self, const char *graph, const char *title, GError **error)
{
  LoomLectureStop *stop;
  char *path;

  if (graph == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                   "A stop has no graph. Set it: <stop graph=\"attention.xml\"/>.");
      return;
    }
  if (self->lecture->stops->len == LOOM_LECTURE_MOST)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "A lecture has at most %d stops.", LOOM_LECTURE_MOST);
      return;
    }
  path = self->folder != NULL ? inside (self->folder, graph) : g_strdup (graph);
  if (path == NULL)
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
          "There is no graph “%s” in the lecture's folder. Stops are relative paths of files in it or below it.",
          graph);
      return;
    }
  for (guint i = 0; i < self->lecture->stops->len; i++)
    if (g_str_equal (((LoomLectureStop *)self->lecture->stops->pdata[i])->path, path))
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                     "The graph “%s” is stop %u already. Copy its file to show it twice.", graph, i + 1);
        g_free (path);
        return;
      }
  stop = g_new0 (LoomLectureStop, 1);
  stop->path = path;
  stop->title = g_strdup (title);
  g_ptr_array_add (self->lecture->stops, stop);
}

/* The values of known attributes, in the order of names; FALSE for an unknown one. */
static gboolean
take (const char *element, const char **name, const char **value, const char *const *known, const char **to,
      GError **error)
{
  for (; *name != NULL; name++, value++)
    {
      guint i = 0;

      while (known[i] != NULL && !g_str_equal (known[i], *name))
        i++;
      if (known[i] == NULL)
        return loom_refuse (error, LOOM_ERROR_SCHEMA, "<%s> has no attribute “%s”.", element, *name);
      to[i] = *value;
    }
  return TRUE;
}

static void
start_cb (GMarkupParseContext *context, const char *element, const char **name, const char **value, gpointer data,
          GError **error)
{
  static const char *const of_lecture[] = { "xmlns", "version", "title", NULL };
  static const char *const of_stop[] = { "graph", "title", NULL };
  Reader *self = data;
  const char *got[3] = { NULL };
  /* GLib's parser allows elements after the root. */
  const GSList *above = g_markup_parse_context_get_element_stack (context)->next;

  if (!self->has_begun)
    {
      self->has_begun = TRUE;
      if (!g_str_equal (element, "lecture"))
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "A lecture begins with <lecture>, not <%s>.", element);
      else if (take (element, name, value, of_lecture, got, error)
               && (g_strcmp0 (got[0], NAMESPACE) != 0 || g_strcmp0 (got[1], "1") != 0))
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA,
                     "<lecture> needs xmlns=\"" NAMESPACE "\" and version=\"1\".");
      self->lecture->title = g_strdup (got[2] != NULL ? got[2] : "");
    }
  else if (above == NULL)
    g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "A lecture ends with </lecture>; nothing follows it.");
  else if (!g_str_equal (element, "stop") || above->next != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "<lecture> has <stop> elements only, not <%s>.", element);
  else if (take (element, name, value, of_stop, got, error))
    add_stop (self, got[0], got[1], error);
}

/* Words between the elements are refused, as they would be lost. */
static void
text_cb (GMarkupParseContext *context, const char *text, gsize length, gpointer data, GError **error)
{
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isspace (text[i]))
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "A lecture has no text between its elements.");
        return;
      }
}

/* The error with the file and the line, as one of ours. */
static void
report (GMarkupParseContext *context, const char *path, GError *cause, GError **error)
{
  /* GLib quotes bytes that are no UTF-8 as they are. */
  g_autofree char *sentence = loom_text_printable (cause->message, TRUE, MOST_SENTENCE);
  int line;

  g_markup_parse_context_get_position (context, &line, NULL);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "%s, line %d: %s", path, line, sentence);
  g_error_free (cause);
}

static LoomLecture *
parse (const char *text, gsize length, const char *path, const char *folder, GError **error)
{
  const GMarkupParser parser = { .start_element = start_cb, .text = text_cb };
  g_autoptr (LoomLecture) lecture = g_new0 (LoomLecture, 1);
  g_autoptr (GMarkupParseContext) context = NULL;
  Reader reader = { .lecture = lecture, .folder = folder };
  GError *local = NULL;

  lecture->stops = g_ptr_array_new_with_free_func (stop_free);
  if (length > MOST_BYTES)
    return loom_refuse_null (error, LOOM_ERROR_SCHEMA, "%s: a lecture has at most %d bytes.", path, MOST_BYTES);
  context = g_markup_parse_context_new (&parser, 0, &reader, NULL);
  if (!g_markup_parse_context_parse (context, text, (gssize)length, &local)
      || !g_markup_parse_context_end_parse (context, &local))
    {
      report (context, path, local, error);
      return NULL;
    }
  if (lecture->stops->len == 0)
    return loom_refuse_null (error, LOOM_ERROR_SCHEMA, "%s: the lecture has no stop.", path);
  return g_steal_pointer (&lecture);
}

LoomLecture *
loom_lecture_read_data (const char *text, gsize length, const char *name, GError **error)
{
  return parse (text, length, name, NULL, error);
}

LoomLecture *
loom_lecture_read (const char *path, GError **error)
{
  g_autofree char *text = NULL, *parent = g_path_get_dirname (path), *name = g_path_get_basename (path);
  g_autofree char *real = loom_os->real_path (parent);
  g_autoptr (LoomFolder) folder = NULL;
  gsize length;

  if (real == NULL)
    return loom_refuse_null (error, LOOM_ERROR_IO, "%s: its folder does not exist", path);
  folder = loom_folder_open (parent, error);
  if (folder == NULL || !loom_folder_read (folder, name, MOST_BYTES, &text, &length, error))
    return NULL;
  return parse (text, length, path, real, error);
}
