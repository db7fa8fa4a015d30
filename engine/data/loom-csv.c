#include "engine/data/loom-csv.h"

#include "engine/core/loom-error.h"

/* One field of a row: unquoted and ended in place. Sets *more when another follows. */
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
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” line %d: a quoted field is not closed.",
                           self->path, self->row_line);
              return FALSE;
            }
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
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” line %d: something follows the closing quote of a field. Write a quote within a field "
                       "twice.",
                       self->path, self->line);
          return FALSE;
        }
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

  while (self->p < self->end && (*self->p == '\n' || *self->p == '\r'))
    {
      self->line += *self->p == '\n';
      self->p++;
    }
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
