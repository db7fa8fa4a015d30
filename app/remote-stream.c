/* Implements remote-stream.h. Both ends have the byte order of the machines that Gradloom runs on. */
#include "app/remote-stream.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <poll.h>
#include <unistd.h>

#define TAIL (64 * 1024)

gboolean
remote_write (GOutputStream *stream, GVariant *message, GError **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (message);
  const guint64 n = GUINT64_TO_LE ((guint64)g_variant_get_size (owned));

  return g_output_stream_write_all (stream, &n, sizeof n, NULL, NULL, error)
         && g_output_stream_write_all (stream, g_variant_get_data (owned), g_variant_get_size (owned), NULL, NULL,
                                       error)
         && g_output_stream_flush (stream, NULL, error);
}

GVariant *
remote_read (GInputStream *stream, const char *type, GError **error)
{
  guint64 n = 0;
  gsize got = 0;

  if (!g_input_stream_read_all (stream, &n, sizeof n, &got, NULL, error))
    return NULL;
  n = GUINT64_FROM_LE (n);
  if (got != sizeof n)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The connection is lost.");
      return NULL;
    }
  if (n > REMOTE_MAX_MESSAGE)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The other end sends a message of %" G_GUINT64_FORMAT " bytes.",
                   n);
      return NULL;
    }
  /* At most twice as long as what has arrived, whatever length is announced. */
  g_autoptr (GByteArray) array = g_byte_array_new ();
  while (array->len < n)
    {
      const guint have = array->len, piece = (guint)MIN (n - have, MAX (have, TAIL));

      g_byte_array_set_size (array, have + piece);
      if (!g_input_stream_read_all (stream, array->data + have, piece, &got, NULL, error))
        return NULL;
      if (got != piece)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The connection is lost.");
          return NULL;
        }
    }
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (g_steal_pointer (&array));
  g_autoptr (GVariant) message = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (type), bytes, FALSE));
  /* A tree of its own: foreign bytes may be in no normal form, and these are freed. */
  if (!g_variant_is_normal_form (message))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The other end sends a damaged message.");
      return NULL;
    }
  return g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (type), bytes, TRUE));
}

gboolean
remote_take_streams (GInputStream **input, GOutputStream **output)
{
  int in = fcntl (STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  int nothing = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  if (in < 0 || out < 0 || nothing < 0 || dup2 (nothing, STDIN_FILENO) < 0 || dup2 (STDERR_FILENO, STDOUT_FILENO) < 0)
    return FALSE;
  close (nothing);
  *input = g_unix_input_stream_new (in, TRUE);
  *output = g_unix_output_stream_new (out, TRUE);
  return TRUE;
}

char *
remote_dup_tail_sum (int fd, gint64 end)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guint8 *tail = g_malloc (TAIL);
  const gint64 begin = MAX (end - TAIL, 0);
  gsize have = 0;

  if (end <= 0)
    return g_strdup ("-");
  while (have < (gsize)(end - begin))
    {
      gssize n = loom_os->pread (fd, tail + have, (gsize)(end - begin) - have, begin + (gint64)have);
      if (n == 0 || (n < 0 && errno != EINTR))
        return NULL;
      have += (gsize)MAX (n, 0);
    }
  g_checksum_update (sum, tail, (gssize)have);
  return g_strdup (g_checksum_get_string (sum));
}

static gboolean
copy_once (int from, int to, char *piece, gsize size)
{
  gssize n = read (from, piece, size);

  if (n <= 0)
    return n < 0 && errno == EINTR;
  for (gssize done = 0; done < n;)
    {
      gssize written = write (to, piece + done, (gsize)(n - done));
      if (written < 0 && errno != EINTR)
        return FALSE;
      done += MAX (written, 0);
    }
  return TRUE;
}

void
remote_copy_both_ways (int a_in, int a_out, int b_in, int b_out)
{
  const gsize size = 65536;
  g_autofree char *piece = g_malloc (size);
  struct pollfd ends[] = { { a_in, POLLIN, 0 }, { b_in, POLLIN, 0 } };

  for (;;)
    {
      if (poll (ends, 2, -1) < 0)
        {
          if (errno != EINTR)
            return;
          continue;
        }
      if ((ends[0].revents != 0 && !copy_once (a_in, b_out, piece, size))
          || (ends[1].revents != 0 && !copy_once (b_in, a_out, piece, size)))
        return;
    }
}
