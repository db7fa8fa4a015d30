/* Splits a CSV text into rows and fields in place: quotes, line ends and blank lines by RFC 4180. */
#include "engine/data/loom-csv.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-parquet.h"
#include "engine/data/loom-text-file.h"

char *
loom_csv_read_file (const char *path, gsize max, double needed, const char *remedy, gsize *length, gboolean *is_whole,
                    GError **error)
{
  if (loom_parquet_is_file (path))
    return loom_parquet_read_text (path, max, needed, remedy, length, is_whole, error);
  return loom_text_file_read (path, max, needed, remedy, length, is_whole, error);
}

char
loom_csv_named_delimiter (const char *text, const char *end)
{
  if (end - text < 6 || memcmp (text, "sep=", 4) != 0 || (text[5] != '\n' && text[5] != '\r'))
    return 0;
  return (g_ascii_isprint (text[4]) && text[4] != '"') || text[4] == '\t' ? text[4] : 0;
}

const char *
loom_csv_skip_comments (const char *text, const char *end)
{
  while (text < end && *text == '#')
    {
      const char *line_end = memchr (text, '\n', (gsize)(end - text));

      text = line_end != NULL ? line_end + 1 : end;
    }
  return text;
}

/* The number of delimiters in a line. */
static guint
count_delimiters (const LoomCsvReader *self, const char *line)
{
  guint n = 0;

  for (; line < self->end && *line != '\n'; line++)
    n += *line == self->delimiter;
  return n;
}

void
loom_csv_begin (LoomCsvReader *self)
{
  const char named = loom_csv_named_delimiter (self->p, self->end);
  const char *rows = loom_csv_skip_comments (self->p, self->end);

  if (named != 0)
    {
      self->delimiter = named;
      self->p += 5;
    }
  /* Names that begin with #, as NumPy writes them, are as many as the fields below. */
  while (rows < self->end && self->p < rows && count_delimiters (self, self->p) != count_delimiters (self, rows))
    {
      self->p = strchr (self->p, '\n') + 1;
      self->line++;
    }
}

/* FALSE if this line is not blank. */
static gboolean
skip_blank_line (LoomCsvReader *self)
{
  char *p = self->p;

  while (p < self->end && *p == ' ' && self->delimiter != ' ')
    p++;
  if (p < self->end && *p != '\n' && *p != '\r')
    return FALSE;
  self->line += p < self->end && *p == '\n';
  self->p = MIN (p + 1, self->end);
  return TRUE;
}

/* Reads one field of a row: unquoted and ended in place. *more: another field follows. */
static gboolean
read_field (LoomCsvReader *self, gboolean *more, GError **error)
{
  char *start = self->p, *to = self->p;

  if (*self->p == '"')
    {
      self->p++;
      for (;;)
        {
          if (self->p == self->end)
            return loom_refuse (error, LOOM_ERROR_DATA, "“%s” line %d: a quoted field is not closed.", self->path,
                                self->row_line);
          if (*self->p == '"' && self->p[1] != '"')
            break;
          if (*self->p == '"')
            self->p++;
          if (*self->p == '\n')
            self->line++;
          *to++ = *self->p++;
        }
      self->p++;
      while (self->p < self->end && *self->p == ' ' && self->delimiter != ' ')
        self->p++;
      if (self->p < self->end && *self->p != self->delimiter && *self->p != '\n' && *self->p != '\r')
        return loom_refuse (
            error, LOOM_ERROR_DATA,
            "“%s” line %d: something follows the closing quote of a field. Write a quote within a field "
            "twice.",
            self->path, self->line);
    }
  while (self->p < self->end && *self->p != self->delimiter && *self->p != '\n' && *self->p != '\r')
    *to++ = *self->p++;

  *more = self->p < self->end && *self->p == self->delimiter;
  if (*more)
    self->p++;
  else
    {
      if (self->p < self->end && *self->p == '\r')
        self->p++;
      if (self->p < self->end && *self->p == '\n')
        self->p++;
      self->line++;
    }
  *to = '\0';
  g_ptr_array_add (self->fields, g_strstrip (start));
  return TRUE;
}

gboolean
loom_csv_read_row (LoomCsvReader *self, GError **error)
{
  gboolean more = TRUE;

  while (self->p < self->end && skip_blank_line (self))
    ;
  if (self->p == self->end)
    return FALSE;
  g_ptr_array_set_size (self->fields, 0);
  self->row_line = self->line;
  while (more)
    {
      if (!read_field (self, &more, error))
        return FALSE;
    }
  return TRUE;
}
