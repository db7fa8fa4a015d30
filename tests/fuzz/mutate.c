/* Mutations that keep the checksums and lengths of a format, without which changed bytes get no further than the first
 * check. Each takes the input apart as far as it is understood, changes one piece and puts it together again; an input
 * that is not understood is changed as plain bytes. */
#include "tests/fuzz/readers.h"

#include <string.h>

static guint
draw (guint *seed)
{
  guint x = *seed += 0x9e3779b9u;

  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

gsize
fuzz_change (guint8 *data, gsize size, gsize most, guint seed)
{
  static const guint64 numbers[] = { 0, 1, 0x7f, 0xff, 0xffff, G_MAXINT32, G_MAXUINT32, G_MAXINT64, G_MAXUINT64 };
  const gsize at = size > 0 ? draw (&seed) % size : 0, wanted = 1 + draw (&seed) % 40, n = MIN (size - at, wanted);
  const guint64 number = numbers[draw (&seed) % G_N_ELEMENTS (numbers)];
  const gsize bytes = draw (&seed) % 2 == 0 ? 4 : 8;

  if (size == 0)
    {
      if (most > 0)
        data[0] = (guint8)draw (&seed);
      return MIN (most, 1);
    }
  switch (draw (&seed) % 6)
    {
    case 0:
      data[at] = (guint8)draw (&seed);
      return size;
    case 1:
      data[at] ^= (guint8)(1 << draw (&seed) % 8);
      return size;
    case 2:
      memcpy (data + at, &number, MIN (size - at, bytes));
      return size;
    case 3:
      memmove (data + at, data + at + n, size - at - n);
      return size - n;
    case 4:
      if (size + n > most)
        return at;
      memmove (data + at + n, data + at, size - at);
      return size + n;
    default:
      return at;
    }
}

/* ---- pieces ----------------------------------------------------------- */

/* Changes bytes [at, at + n) by `change`, which may make them longer; *n is their new number. */
static gsize
change_piece (guint8 *data, gsize size, gsize most, gsize at, gsize *n, guint seed, FuzzChange change)
{
  const gsize after = size - at - *n, space = most - at - after;
  g_autofree guint8 *piece = g_malloc (space + 1);
  gsize now;

  memcpy (piece, data + at, *n);
  now = change (piece, *n, space, seed);
  memmove (data + at + now, data + at + *n, after);
  memcpy (data + at, piece, now);
  *n = now;
  return at + now + after;
}

static const char *const json_words[] = { "\"",         "{",       "}",
                                          "[",          "]",       ",",
                                          ":",          "null",    "true",
                                          "-1",         "1e309",   "99999999999999999999",
                                          "\\u0000",    "\\ud800", "0",
                                          "[[[[[[[[",   "\n",      "\t",
                                          "\xff",       "nan",     "\xef\xbf\xbd",
                                          "4294967296", "0.5",     NULL };

static gsize
put_word (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed)
{
  const char *const *words = self->words != NULL ? self->words : json_words;
  const char *word = words[draw (&seed) % g_strv_length ((char **)words)];
  const gsize n = strlen (word), at = draw (&seed) % (size + 1), over = draw (&seed) % 2 == 0 ? MIN (n, size - at) : 0;

  if (size - over + n > most)
    return size;
  memmove (data + at + n, data + at + over, size - at - over);
  memcpy (data + at, word, n);
  return size - over + n;
}

/* ---- checksums -------------------------------------------------------- */

static guint32
crc_of (const guint8 *data, gsize n)
{
  guint32 crc = 0xffffffffu;

  for (gsize i = 0; i < n; i++)
    {
      crc ^= data[i];
      for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
  return ~crc;
}

static guint32
get32 (const guint8 *p)
{
  return p[0] | (guint32)p[1] << 8 | (guint32)p[2] << 16 | (guint32)p[3] << 24;
}

static void
put32 (guint8 *p, guint32 value)
{
  for (int i = 0; i < 4; i++)
    p[i] = (guint8)(value >> 8 * i);
}

/* Of an archive whose members are one after the other: changes a stored member, and renews its checksum and sizes in
 * both of its headers, and the offsets of those after it. */
static gsize
mutate_zip (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  gsize end = size, directory, n_members, which, entry, local, at, n, old;
  guint32 crc;

  for (gsize i = size >= 22 ? size - 22 : 0; i > 0 && end == size; i--)
    if (memcmp (data + i, "PK\5\6", 4) == 0)
      end = i;
  if (end == size || (n_members = data[end + 10] | data[end + 11] << 8) == 0)
    return change (data, size, most, seed);
  directory = get32 (data + end + 16);
  which = draw (&seed) % n_members;
  entry = directory;
  for (gsize i = 0; i < which && entry + 46 <= end; i++)
    entry += 46 + (data[entry + 28] | data[entry + 29] << 8) + (data[entry + 30] | data[entry + 31] << 8)
             + (data[entry + 32] | data[entry + 33] << 8);
  if (entry + 46 > end || memcmp (data + entry, "PK\1\2", 4) != 0 || data[entry + 10] != 0 || data[entry + 8] & 8)
    return change (data, size, most, seed);
  local = get32 (data + entry + 42);
  if (local + 30 > directory || memcmp (data + local, "PK\3\4", 4) != 0)
    return change (data, size, most, seed);
  at = local + 30 + (data[local + 26] | data[local + 27] << 8) + (data[local + 28] | data[local + 29] << 8);
  old = n = get32 (data + entry + 20);
  if (at > directory || n > directory - at)
    return change (data, size, most, seed);
  size = change_piece (data, size, most, at, &n, seed, change);
  crc = crc_of (data + at, n);
  entry += n - old;
  directory += n - old;
  end += n - old;
  put32 (data + end + 16, (guint32)directory);
  put32 (data + local + 14, crc);
  put32 (data + local + 18, (guint32)n);
  put32 (data + local + 22, (guint32)n);
  put32 (data + entry + 16, crc);
  put32 (data + entry + 20, (guint32)n);
  put32 (data + entry + 24, (guint32)n);
  for (gsize other = directory, i = 0; i < n_members && other + 46 <= end; i++)
    {
      if (get32 (data + other + 42) > local)
        put32 (data + other + 42, (guint32)(get32 (data + other + 42) + n - old));
      other += 46 + (data[other + 28] | data[other + 29] << 8) + (data[other + 30] | data[other + 31] << 8)
               + (data[other + 32] | data[other + 33] << 8);
    }
  return size;
}

static gsize
mutate_png (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  gsize starts[64], n_chunks = 0, n, old;

  for (gsize at = 8; at + 12 <= size && n_chunks < G_N_ELEMENTS (starts);)
    {
      const guint64 length = GUINT32_SWAP_LE_BE (get32 (data + at));

      if (length > size - at - 12)
        break;
      starts[n_chunks++] = at;
      at += 12 + length;
    }
  if (n_chunks == 0)
    return change (data, size, most, seed);
  const gsize at = starts[draw (&seed) % n_chunks];
  old = GUINT32_SWAP_LE_BE (get32 (data + at));
  n = old + 4; /* with the chunk's name */
  size = change_piece (data, size, most, at + 4, &n, seed, change);
  if (n < 4)
    return size;
  put32 (data + at, GUINT32_SWAP_LE_BE ((guint32)(n - 4)));
  put32 (data + at + 4 + n, GUINT32_SWAP_LE_BE (crc_of (data + at + 4, n)));
  return size;
}

static gsize
mutate_tar (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  const gsize blocks = size / 512, at = blocks > 0 ? draw (&seed) % blocks * 512 : 0;
  gsize n = 512;
  guint sum = 0;

  if (blocks == 0 || draw (&seed) % 4 == 0)
    return change (data, size, most, seed);
  /* In a header, in its own length. */
  g_autofree guint8 *piece = g_memdup2 (data + at, 512);
  n = MIN (change (piece, n, 512, seed), 512);
  memcpy (data + at, piece, n);
  memset (data + at + 148, ' ', 8);
  for (gsize i = 0; i < 512; i++)
    sum += data[at + i];
  g_snprintf ((char *)data + at + 148, 8, "%06o", sum);
  return size;
}

/* ---- lengths ---------------------------------------------------------- */

static gsize
mutate_header (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  guint64 n;
  gsize length;

  if (size < 9)
    return change (data, size, most, seed);
  memcpy (&n, data, 8);
  if (n > size - 8 || draw (&seed) % 4 == 0)
    return change (data, size, most, seed);
  length = n;
  if (draw (&seed) % 2 == 0)
    {
      g_autofree guint8 *header = g_malloc (length + 64);

      memcpy (header, data + 8, length);
      const gsize now = put_word (self, header, length, length + 64, seed);
      if (size - length + now > most)
        return size;
      memmove (data + 8 + now, data + 8 + length, size - 8 - length);
      memcpy (data + 8, header, now);
      size += now - length;
      length = now;
    }
  else
    size = change_piece (data, size, most, 8, &length, seed, change);
  n = length;
  memcpy (data, &n, 8);
  return size;
}

static gsize
mutate_footer (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  gsize n;

  if (size < 12 || get32 (data + size - 8) > size - 12 || draw (&seed) % 4 == 0)
    return change (data, size, most, seed);
  n = get32 (data + size - 8);
  size = change_piece (data, size, most, size - 8 - n, &n, seed, change);
  put32 (data + size - 8, (guint32)n);
  return size;
}

static gboolean
get_varint (const guint8 *data, gsize size, gsize *at, guint64 *value)
{
  *value = 0;
  for (int shift = 0; shift < 64 && *at < size; shift += 7)
    {
      const guint8 byte = data[(*at)++];

      *value |= (guint64)(byte & 127) << shift;
      if (byte < 128)
        return TRUE;
    }
  return FALSE;
}

static void
put_varint (GByteArray *out, guint64 value)
{
  do
    {
      const guint8 byte = (guint8)((value & 127) | (value > 127 ? 128 : 0));

      g_byte_array_append (out, &byte, 1);
      value >>= 7;
    }
  while (value > 0);
}

/* Copies a message with one field changed, removed or doubled: the lengths around it are renewed on the way back. */
static void
mutate_message (const guint8 *data, gsize size, GByteArray *out, guint *seed, int depth, FuzzChange change)
{
  gsize n_fields = 0, which, i = 0;
  guint64 tag, value;

  for (gsize at = 0; at < size; n_fields++)
    {
      if (!get_varint (data, size, &at, &tag) || !get_varint (data, size, &at, &value))
        break;
      if ((tag & 7) == 2)
        at += MIN (value, size - at);
      else if ((tag & 7) != 0)
        break;
    }
  which = n_fields > 0 ? draw (seed) % n_fields : 0;
  for (gsize at = 0; at < size; i++)
    {
      const gsize begin = at;

      if (!get_varint (data, size, &at, &tag) || !get_varint (data, size, &at, &value)
          || ((tag & 7) != 2 && (tag & 7) != 0))
        {
          g_byte_array_append (out, data + begin, (guint)(size - begin));
          return;
        }
      const gsize length = (tag & 7) == 2 ? MIN (value, size - at) : 0;

      if (i != which)
        g_byte_array_append (out, data + begin, (guint)(at + length - begin));
      else if (draw (seed) % 8 == 0)
        {
          if (draw (seed) % 2 == 0)
            for (int copy = 0; copy < 2; copy++)
              g_byte_array_append (out, data + begin, (guint)(at + length - begin));
        }
      else if ((tag & 7) == 0)
        {
          static const guint64 numbers[] = { 0, 1, 2, 7, 16, 255, G_MAXINT32, G_MAXUINT64, (guint64)1 << 40 };

          put_varint (out, tag);
          put_varint (out, draw (seed) % 2 == 0 ? draw (seed) % 24 : numbers[draw (seed) % G_N_ELEMENTS (numbers)]);
        }
      else
        {
          g_autoptr (GByteArray) inner = g_byte_array_new ();

          if (depth < 12 && length > 1 && draw (seed) % 6 != 0)
            mutate_message (data + at, length, inner, seed, depth + 1, change);
          else
            {
              g_byte_array_set_size (inner, (guint)length + 16);
              memcpy (inner->data, data + at, length);
              g_byte_array_set_size (inner, (guint)change (inner->data, length, length + 16, draw (seed)));
            }
          put_varint (out, tag);
          put_varint (out, inner->len);
          g_byte_array_append (out, inner->data, inner->len);
        }
      at += length;
    }
}

static gsize
mutate_protobuf (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  g_autoptr (GByteArray) out = g_byte_array_new ();

  mutate_message (data, size, out, &seed, 0, change);
  if (out->len > most)
    return size;
  memcpy (data, out->data, out->len);
  return out->len;
}

/* Changes up to 16 bytes in place, or all that follow a place are lost. */
static gsize
mutate_fixed (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  const gsize at = draw (&seed) % size, n = MIN (1 + draw (&seed) % 16, size - at);
  g_autofree guint8 *piece = g_memdup2 (data + at, n);

  if (draw (&seed) % 32 == 0)
    return at;
  memcpy (data + at, piece, MIN (n, change (piece, n, n, seed)));
  return size;
}

gsize
fuzz_mutate (const FuzzReader *self, guint8 *data, gsize size, gsize most, guint seed, FuzzChange change)
{
  static gsize (*const forms[]) (const FuzzReader *, guint8 *, gsize, gsize, guint, FuzzChange) = {
    [FUZZ_ZIP] = mutate_zip, [FUZZ_PROTOBUF] = mutate_protobuf, [FUZZ_LENGTH] = mutate_header, [FUZZ_PNG] = mutate_png,
    [FUZZ_TAR] = mutate_tar, [FUZZ_FOOTER] = mutate_footer,     [FUZZ_FIXED] = mutate_fixed,
  };
  guint own = seed;

  if (size > 0 && self->form == FUZZ_WORDS && draw (&own) % 2 == 0)
    return put_word (self, data, size, most, own);
  if (size > 0 && self->form > FUZZ_WORDS && draw (&own) % 4 != 0)
    return forms[self->form](self, data, size, most, own, change);
  return change (data, size, most, own);
}
