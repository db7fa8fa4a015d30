/* A lecture: a list of graphs, its stops, which are presented one after the other.
 *
 * The file is XML in the namespace urn:gradloom:lecture with the ending .lecture (docs/file-format.md). Its stops are
 * files in the list's folder or below it, so that a list from elsewhere opens nothing else. */
#pragma once

#include <glib.h>

typedef struct
{
  char *title; /* NULL: the graph's */
  char *path;  /* absolute, of an existing file; of a text, as it is written */
} LoomLectureStop;

typedef struct
{
  char *title;      /* "" if it has none */
  GPtrArray *stops; /* LoomLectureStop, at least one */
} LoomLecture;

#define LOOM_LECTURE_SUFFIX ".lecture"
#define LOOM_LECTURE_MOST   100 /* stops */

/* Errors: IO; SCHEMA with the line, for other elements or attributes, and for a stop that is outside the folder or does
 * not exist. */
LoomLecture *loom_lecture_read (const char *path, GError **error);
/* A lecture that is built into a program, with its graphs, which are not looked for. name: for errors, SCHEMA. */
LoomLecture *loom_lecture_read_data (const char *text, gsize length, const char *name, GError **error);
void loom_lecture_free (LoomLecture *lecture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomLecture, loom_lecture_free)
