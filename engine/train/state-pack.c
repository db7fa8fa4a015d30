/* Packs the slots of a state one after the other; see the header.
 *
 * Slots are matched by name, because plans that are made later add slots. A list of values has all slots of its time;
 * those that a state does not keep are NULL.
 *
 * A pack is a head, and by slot its name, the number of its bytes, a sum of its words, perhaps a decay, and the packed
 * words; the length of the name has bits for words without signs and for a decay. The sum finds what a loss of power
 * has left, and a base that is not the right one. Numbers are little-endian, as in safetensors. */
#include "engine/train/state-pack.h"

#include "engine/core/loom-refuse.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/word-pack-private.h"

#define PIECE (1 << 20) /* words that are packed between two checks of the length: a multiple of a block's */
#define UNSIGNED (G_GUINT64_CONSTANT (1) << 63)          /* in the length of a name: no word has its sign bit */
#define DECAYS   (G_GUINT64_CONSTANT (1) << 62)          /* a WordDecay follows the name */
#define MAGIC G_GUINT64_CONSTANT (0x324b43415057474c) /* "LGWPACK2" */
#define FIRST G_GUINT64_CONSTANT (0x314b43415057474c) /* "LGWPACK1", without decays */

typedef struct
{
  guint64 magic;
  gint64 base;
  guint64 n_slots;
} Head;

typedef struct
{
  guint64 name, bytes, sum; /* bytes of the name */
} SlotHead;

gint64
state_bytes (LoomState *state)
{
  gint64 bytes = 0;

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      LoomTensorDesc desc;

      loom_state_slot (state, i, NULL, NULL, &desc);
      bytes += loom_desc_count (&desc) * (gint64)loom_dtype_size (desc.dtype);
    }
  return bytes;
}

GPtrArray *
state_values (LoomState *state, GError **error)
{
  const guint n = loom_state_n_slots (state);
  g_autoptr (GPtrArray) list = g_ptr_array_new_full (n, (GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < n; i++)
    {
      const char *name;
      LoomTensor *value;

      loom_state_slot (state, i, &name, NULL, NULL);
      value = loom_state_slot_is_kept (name) ? loom_state_get (state, name, error) : NULL;
      if (value == NULL && loom_state_slot_is_kept (name))
        return NULL;
      g_ptr_array_add (list, value);
    }
  return g_steal_pointer (&list);
}

gboolean
state_put_values (LoomState *state, const GPtrArray *value, GError **error)
{
  for (guint i = 0; i < value->len; i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      if (value->pdata[i] != NULL && !loom_state_set (state, name, value->pdata[i], error))
        return FALSE;
    }
  return TRUE;
}

static const LoomTensor *
value_of (const GPtrArray *list, guint slot)
{
  return list != NULL && slot < list->len ? list->pdata[slot] : NULL;
}

static guint64
count_values (const GPtrArray *list)
{
  guint64 n = 0;

  for (guint i = 0; i < list->len; i++)
    n += list->pdata[i] != NULL;
  return n;
}

/* ---- writing ------------------------------------------------------------- */

static guint64
sum_of (const LoomTensor *value)
{
  const guint32 *word = value->data;
  guint64 sum = value->bytes;

  for (gsize i = 0; i < value->bytes / 4; i++)
    sum += word[i] * (guint64)(2 * i + 1);
  return sum;
}

static gboolean
is_unsigned (const LoomTensor *value)
{
  return value == NULL || words_are_unsigned (value->data, value->bytes / 4);
}

static gboolean
fits (const GByteArray *out, gsize more, gsize most)
{
  return out->len + more <= most;
}

/* Bytes after the last whole word follow as they are. FALSE: they may take more than `most` bytes. */
static gboolean
pack_value (GByteArray *out, const LoomTensor *value, const LoomTensor *base, const WordDecay *decay,
            gboolean is_unsigned, gsize most)
{
  const gsize words = value->bytes / 4;
  const guint32 *word = value->data, *earlier = base != NULL ? base->data : NULL;

  for (gsize i = 0; i < words; i += PIECE)
    {
      const gsize n = MIN (PIECE, words - i);

      if (!fits (out, WORDS_PACKED_MOST (n), most))
        return FALSE;
      words_pack (out, word + i, earlier != NULL ? earlier + i : NULL, decay, n, is_unsigned);
    }
  if (!fits (out, value->bytes - 4 * words, most))
    return FALSE;
  g_byte_array_append (out, (const guint8 *)(word + words), (guint)(value->bytes - 4 * words));
  return TRUE;
}

/* base NULL: there is none. */
static WordDecay
find_decay (const LoomTensor *value, const LoomTensor *base, gint64 steps)
{
  if (base == NULL || base->bytes != value->bytes || value->dtype != LOOM_F32)
    return (WordDecay){ 0 };
  return words_find_decay (value->data, base->data, value->bytes / 4, (guint32)MIN (steps, G_MAXINT32));
}

/* The bytes that a pack of these values takes at most. */
static gsize
packed_most (const GPtrArray *value, LoomState *state)
{
  gsize most = sizeof (Head);

  for (guint i = 0; i < value->len; i++)
    {
      const LoomTensor *one = value->pdata[i];
      const char *name;

      if (one == NULL)
        continue;
      loom_state_slot (state, i, &name, NULL, NULL);
      /* Each piece may end with a block that is not full. */
      most += sizeof (SlotHead) + sizeof (WordDecay) + strlen (name) + one->bytes % 4 + WORDS_PACKED_MOST (one->bytes / 4)
              + (one->bytes / 4 / PIECE + 1) * WORDS_PACKED_MOST (1);
    }
  return most;
}

GBytes *
state_pack (LoomState *state, const GPtrArray *value, gint64 step, gint64 base_step, const GPtrArray *base, gsize most,
            GError **error)
{
  const Head head = { MAGIC, base_step, count_values (value) };
  const gsize space = MIN (packed_most (value, state), most);
  guint8 *bytes = g_try_malloc (space);
  g_autoptr (GByteArray) out = NULL;

  if (bytes == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "There is not enough memory for a state of the history.");
  /* An array that has its memory already does not grow, which would end the program if there were none. */
  out = g_byte_array_new_take (bytes, space);
  g_byte_array_set_size (out, 0);
  g_byte_array_append (out, (const guint8 *)&head, sizeof head);
  for (guint i = 0; i < value->len; i++)
    {
      const LoomTensor *one = value->pdata[i], *before = value_of (base, i);
      const gboolean plain = one != NULL && is_unsigned (one) && is_unsigned (before);
      const char *name;
      SlotHead slot = { 0 };
      WordDecay decay;

      if (one == NULL)
        continue;
      loom_state_slot (state, i, &name, NULL, NULL);
      slot = (SlotHead){ strlen (name), one->bytes, sum_of (one) };
      if (!fits (out, sizeof slot + slot.name + sizeof decay, most))
        return NULL;
      decay = find_decay (one, before, step - base_step);
      slot.name |= (plain ? UNSIGNED : 0) | (decay.steps > 0 ? DECAYS : 0);
      g_byte_array_append (out, (const guint8 *)&slot, sizeof slot);
      g_byte_array_append (out, (const guint8 *)name, (guint)strlen (name));
      if (decay.steps > 0)
        g_byte_array_append (out, (const guint8 *)&decay, sizeof decay);
      if (!pack_value (out, one, before, &decay, plain, most))
        return NULL;
    }
  return g_byte_array_free_to_bytes (g_steal_pointer (&out));
}

/* ---- reading ------------------------------------------------------------- */

static gboolean
damaged (GError **error)
{
  g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, "A state of the run's history is damaged.");
  return FALSE;
}

static gboolean
read_head (GBytes *pack, const guint8 **at, const guint8 **end, Head *head)
{
  gsize n;

  *at = g_bytes_get_data (pack, &n);
  *end = *at + n;
  return take (at, *end, head, sizeof *head) && (head->magic == MAGIC || head->magic == FIRST);
}

gboolean
state_pack_base (GBytes *pack, gint64 *base_step)
{
  const guint8 *at, *end;
  Head head;

  if (!read_head (pack, &at, &end, &head))
    return FALSE;
  *base_step = head.base;
  return TRUE;
}

/* What is before the words of a value. */
typedef struct
{
  SlotHead head;
  gboolean is_first; /* packed as words were first */
  gboolean plain;    /* no word has its sign bit */
  WordDecay decay;
} Slot;

/* Of the next value. Returns the number of its slot; -1: it is damaged, or of another run. */
static int
read_slot (LoomState *state, const guint8 **at, const guint8 *end, Slot *slot)
{
  g_autofree char *name = NULL;
  gboolean decays;

  if (!take (at, end, &slot->head, sizeof slot->head))
    return -1;
  slot->plain = (slot->head.name & UNSIGNED) != 0;
  decays = (slot->head.name & DECAYS) != 0;
  slot->head.name &= ~(UNSIGNED | DECAYS);
  if ((gsize)(end - *at) < slot->head.name)
    return -1;
  name = g_strndup ((const char *)*at, slot->head.name);
  *at += slot->head.name;
  slot->decay = (WordDecay){ 0 };
  if (decays
      && (!take (at, end, &slot->decay, sizeof slot->decay)
          || slot->decay.steps > WORD_DECAY_MOST / MAX (slot->head.bytes / 4, 1)))
    return -1;
  return loom_state_find (state, name);
}

static gboolean
unpack_words (const Slot *slot, const guint8 **at, const guint8 *end, guint32 *word, const guint32 *base, gsize n)
{
  return slot->is_first ? words_unpack_first (at, end, word, base, n, slot->plain)
                        : words_unpack (at, end, word, base, &slot->decay, n, slot->plain);
}

/* NULL without an error: it is damaged. */
static LoomTensor *
unpack_value (LoomState *state, guint i, const Slot *slot, const guint8 **at, const guint8 *end,
              const LoomTensor *base, GError **error)
{
  g_autoptr (LoomTensor) value = NULL;
  LoomTensorDesc desc;
  gsize words;

  loom_state_slot (state, i, NULL, NULL, &desc);
  value = loom_tensor_new (desc.dtype, desc.rank, desc.dim, error);
  if (value == NULL)
    return NULL;
  words = value->bytes / 4;
  if (slot->head.bytes != value->bytes
      || !unpack_words (slot, at, end, value->data, base != NULL ? base->data : NULL, words)
      || !take (at, end, (guint8 *)value->data + 4 * words, value->bytes - 4 * words) || slot->head.sum != sum_of (value))
    return NULL;
  return g_steal_pointer (&value);
}

/* TRUE if every slot that is kept has a value. */
static gboolean
is_whole (LoomState *state, const GPtrArray *list)
{
  for (guint i = 0; i < list->len; i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      if (list->pdata[i] == NULL && loom_state_slot_is_kept (name))
        return FALSE;
    }
  return TRUE;
}

/* The values again (transfer full). DATA: it is damaged, is not of this run, or that is not its base. */
static GPtrArray *
unpack (LoomState *state, GBytes *pack, const GPtrArray *base, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  GError *local = NULL;
  const guint8 *at, *end;
  gboolean ok;
  Head head;

  ok = read_head (pack, &at, &end, &head) && (head.base >= 0) == (base != NULL);
  g_ptr_array_set_size (list, (gint)loom_state_n_slots (state));
  for (guint64 n = 0; ok && n < head.n_slots; n++)
    {
      Slot slot = { .is_first = head.magic == FIRST };
      const int i = read_slot (state, &at, end, &slot);

      ok = i >= 0 && list->pdata[i] == NULL;
      if (ok)
        list->pdata[i] = unpack_value (state, (guint)i, &slot, &at, end, value_of (base, (guint)i), &local);
      ok = ok && list->pdata[i] != NULL;
    }
  if (ok && is_whole (state, list))
    return g_steal_pointer (&list);
  if (local != NULL)
    g_propagate_error (error, local);
  else
    damaged (error);
  return NULL;
}

static GBytes *
map_pack (LoomFolder *history, gint64 step, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_run_checkpoint_enter (history, step, error);
  g_autoptr (GMappedFile) file = folder != NULL ? loom_folder_map (folder, STATE_PACK_FILE, error) : NULL;

  return file != NULL ? g_mapped_file_get_bytes (file) : NULL;
}

/* levels: the number of states that one may need. */
static GPtrArray *
read_with (LoomState *state, LoomFolder *history, gint64 step, guint levels, GError **error)
{
  g_autoptr (GBytes) pack = map_pack (history, step, error);
  g_autoptr (GPtrArray) base = NULL;
  gint64 base_step;

  if (pack == NULL)
    return NULL;
  if (levels == 0 || !state_pack_base (pack, &base_step))
    {
      damaged (error);
      return NULL;
    }
  if (base_step >= 0)
    {
      base = read_with (state, history, base_step, levels - 1, error);
      if (base == NULL)
        return NULL;
    }
  return unpack (state, pack, base, error);
}

GPtrArray *
state_pack_read (LoomState *state, LoomFolder *history, gint64 step, GError **error)
{
  return read_with (state, history, step, STATE_PACK_LEVELS, error);
}
