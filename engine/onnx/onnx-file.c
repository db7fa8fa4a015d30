/* Checks the bytes of a protobuf message against its descriptor before they are unpacked.
 *
 * The wire format is a list of (field number, kind, payload). A payload of kind 2 begins with its length and may be a
 * message in turn. Wrong lengths, deep nesting and millions of empty parts are refused here with an error, because the
 * unpacker recurses as deep as the file requires and returns NULL for everything else. Format:
 * https://protobuf.dev/programming-guides/encoding/ */
#include "engine/onnx/onnx-private.h"

/* Graphs in attributes nest; no model has thirty levels. */
#define MAX_DEPTH 64
/* VGG has 100 nodes, the largest language models some 100,000; each part costs at most some 200 bytes. */
#define MAX_PARTS 4000000

typedef struct
{
  const guint8 *start;
  const char *name;
  guint parts;
  GError **error;
} Walk;

static gboolean
refuse (Walk *w, const guint8 *at, const char *why)
{
  g_set_error (w->error, LOOM_ERROR, LOOM_ERROR_DATA,
               "“%s” is not an ONNX file, or is damaged: at byte %" G_GSIZE_FORMAT " %s.", w->name,
               (gsize)(at - w->start), why);
  return FALSE;
}

static gboolean
varint (const guint8 **p, const guint8 *end, guint64 *value)
{
  *value = 0;
  for (guint shift = 0; shift < 64 && *p < end; shift += 7)
    {
      guint8 byte = *(*p)++;
      *value |= (guint64)(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return TRUE;
    }
  return FALSE;
}

static gboolean
check (Walk *w, const ProtobufCMessageDescriptor *descriptor, const guint8 *p, const guint8 *end, guint depth)
{
  if (depth > MAX_DEPTH)
    return refuse (w, p, "its parts are nested too deeply");
  while (p < end)
    {
      const guint8 *at = p;
      guint64 tag, length;

      if (!varint (&p, end, &tag) || tag >> 3 == 0 || tag >> 3 > G_MAXINT32)
        return refuse (w, at, "there is no field");
      if (++w->parts > MAX_PARTS)
        return refuse (w, at, "it has more than 4,000,000 parts");
      switch (tag & 7)
        {
        case 0:
          if (!varint (&p, end, &length))
            return refuse (w, at, "a number does not end");
          break;
        case 1:
        case 5:
          length = (tag & 7) == 1 ? 8 : 4;
          if (length > (guint64)(end - p))
            return refuse (w, at, "the file ends within a number");
          p += length;
          break;
        case 2:
          {
            const ProtobufCFieldDescriptor *field;

            if (!varint (&p, end, &length) || length > (guint64)(end - p))
              return refuse (w, at, "a part is longer than the rest of the file");
            field = protobuf_c_message_descriptor_get_field (descriptor, (unsigned)(tag >> 3));
            if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE
                && !check (w, field->descriptor, p, p + length, depth + 1))
              return FALSE;
            p += length;
            break;
          }
        default:
          return refuse (w, at, "a field has a type that ONNX does not use");
        }
    }
  return TRUE;
}

gboolean
onnx_check_bytes (const ProtobufCMessageDescriptor *descriptor, const guint8 *data, gsize length, const char *name,
                  GError **error)
{
  Walk w = { .start = data, .name = name, .error = error };

  return check (&w, descriptor, data, data + length, 0);
}
