/* `gradloom check X.lecture`: the stops of a lecture, each checked as a graph. */
#include "app/check-lecture.h"

#include "app/shared/checked-graph.h"

#include <stdio.h>

static guint
count_pages (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) lessons = loom_lessons_new (graph, faults);
  guint n = 0;

  for (guint i = 0; i < lessons->len; i++)
    n += ((const LoomLesson *)lessons->pdata[i])->pages->len;
  return n;
}

static void
print_stop (guint number, const LoomLectureStop *stop, const LoomGraph *graph, gboolean json)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) slides = loom_slides_new (graph, faults);
  const char *name = loom_element_get (loom_graph_root (graph), "name");
  const char *title = stop->title != NULL ? stop->title : name != NULL ? name : "";
  g_autofree char *file = g_path_get_basename (stop->path);
  const guint pages = count_pages (graph);

  if (json)
    {
      LoomJson *line = command_event_new ("stop");

      loom_json_int (line, "stop", number);
      loom_json_string (line, "graph", stop->path);
      loom_json_string (line, "title", title);
      loom_json_int (line, "slides", slides->len);
      loom_json_int (line, "pages", pages);
      command_event_print (line);
    }
  else
    printf ("%3u  %-28s %3u slides %3u pages  %s\n", number, file, slides->len, pages, title);
}

int
check_lecture (const Command *command, const char *path, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomLecture) lecture = loom_lecture_read (path, &error);
  int status = 0;

  if (lecture == NULL)
    return command_fail (command, g_steal_pointer (&error));
  for (guint i = 0; i < lecture->stops->len; i++)
    {
      const LoomLectureStop *stop = lecture->stops->pdata[i];
      g_auto (CheckedGraph) checked = { 0 };

      if (checked_graph_read (command, stop->path, json, &checked))
        print_stop (i + 1, stop, checked.graph, json);
      else
        status = 1;
    }
  return status;
}
