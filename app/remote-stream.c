/* Implements remote-stream.h. Both ends have the byte order of the machines that Gradloom runs on. */
#include "app/remote-stream.h"

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
  g_autofree guint8 *bytes = g_malloc (n + 1);
  if (!g_input_stream_read_all (stream, bytes, n, &got, NULL, error))
    return NULL;
  if (got != n)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "The connection is lost.");
      return NULL;
    }
  g_autoptr (GVariant) message
      = g_variant_ref_sink (g_variant_new_from_data (G_VARIANT_TYPE (type), bytes, n, FALSE, NULL, NULL));
  /* A tree of its own: foreign bytes may be in no normal form, and these are freed. */
  if (!g_variant_is_normal_form (message))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The other end sends a damaged message.");
      return NULL;
    }
  guint8 *owned = g_steal_pointer (&bytes);
  return g_variant_ref_sink (g_variant_new_from_data (G_VARIANT_TYPE (type), owned, n, TRUE, g_free, owned));
}
