/* Lectures: lists of stops, which are files in the list's folder only. */
#include "engine/lesson/loom-lecture.h"

#include "engine/core/loom-error.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define LECTURE(body)                                                                                                  \
  "<?xml version=\"1.0\"?>\n<lecture xmlns=\"urn:gradloom:lecture\" version=\"1\" title=\"T\">\n" body "</lecture>\n"

static char *folder;

static char *
write_file (const char *name, const char *text)
{
  char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  return path;
}

static void
test_stops (void)
{
  g_autofree char *path = write_file (
      "a.lecture", LECTURE ("  <stop graph=\"a.xml\"/>\n  <!-- note -->\n  <stop graph=\"in/b.xml\" title=\"B\"/>\n"));
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomLecture) lecture = loom_lecture_read (path, &error);
  const LoomLectureStop *second;

  g_assert_no_error (error);
  g_assert_cmpstr (lecture->title, ==, "T");
  g_assert_cmpuint (lecture->stops->len, ==, 2);
  second = lecture->stops->pdata[1];
  g_assert_cmpstr (second->title, ==, "B");
  g_assert_true (g_str_has_suffix (second->path, "/in/b.xml"));
}

/* A text's graphs are not looked for. */
static void
test_text (void)
{
  const char *text = LECTURE ("<stop graph=\"lessons/none.xml\"/>\n");
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomLecture) lecture = loom_lecture_read_data (text, strlen (text), "t", &error);
  g_autoptr (LoomLecture) none = NULL;
  const LoomLectureStop *stop;

  g_assert_no_error (error);
  stop = lecture->stops->pdata[0];
  g_assert_cmpstr (stop->path, ==, "lessons/none.xml");
  none = loom_lecture_read_data ("<graph/>", 8, "t", &error);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
  g_assert_null (none);
}

/* Each is refused by one sentence with the line. */
static void
test_refused (void)
{
  static const struct
  {
    const char *text, *says;
  } cases[] = {
    { LECTURE (""), "has no stop" },
    { LECTURE ("<stop/>"), "line 3: A stop has no graph" },
    { LECTURE ("<stop graph=\"missing.xml\"/>"), "There is no graph “missing.xml”" },
    { LECTURE ("<stop graph=\"in\"/>"), "There is no graph" },
    { LECTURE ("<stop graph=\"../outside.xml\"/>"), "There is no graph" },
    { LECTURE ("<stop graph=\"/etc/passwd\"/>"), "There is no graph" },
    { LECTURE ("<stop graph=\"link.xml\"/>"), "There is no graph" },
    { LECTURE ("<stop graph=\"a.xml\" run=\"yes\"/>"), "no attribute “run”" },
    { LECTURE ("<stop graph=\"a.xml\"><stop graph=\"a.xml\"/></stop>"), "<stop> elements only" },
    { LECTURE ("<stop graph=\"a.xml\"/><stop graph=\"in/../a.xml\"/>"), "“in/../a.xml” is stop 1 already" },
    { LECTURE ("words"), "no text between" },
    { "<graph/>", "begins with <lecture>" },
    { "<lecture/>", "needs xmlns" },
    { LECTURE ("<stop graph=\"a.xml\"/>\n") "<stop graph=\"a.xml\"/>", "nothing follows it" },
    { "<lecture", "line 1" },
    { "", "a.lecture" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = write_file ("a.lecture", cases[i].text);
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomLecture) lecture = loom_lecture_read (path, &error);

      g_assert_null (lecture);
      if (strstr (error->message, cases[i].says) == NULL)
        g_error ("%u: %s", i, error->message);
    }
}

TEST_FILE (argc, argv)
{
  g_autofree char *around = g_dir_make_tmp ("gradloom-lecture-XXXXXX", NULL);
  g_autofree char *in = NULL, *a = NULL, *b = NULL, *c = NULL, *link = NULL;
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_build_filename (around, "folder", NULL);
  in = g_build_filename (folder, "in", NULL);
  g_assert_cmpint (g_mkdir_with_parents (in, 0755), ==, 0);
  a = write_file ("a.xml", "<graph/>");
  b = write_file ("in/b.xml", "<graph/>");
  c = write_file ("../outside.xml", "<graph/>");
  link = g_build_filename (folder, "link.xml", NULL);
  g_assert_cmpint (symlink (c, link), ==, 0);
  g_test_add_func ("/lecture/stops", test_stops);
  g_test_add_func ("/lecture/text", test_text);
  g_test_add_func ("/lecture/refused", test_refused);
  status = g_test_run ();
  remove_tree (around);
  g_free (folder);
  return status;
}
