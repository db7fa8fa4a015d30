/* A stack machine that builds data alone. Every value is kept in one list until the pickle is freed, so values may
 * refer to each other in circles. Their number is bounded, and so is the length of a name, which joins two texts. */
#include "engine/interop/pickle.h"

#include <string.h>

#include "engine/core/loom-refuse.h"

#define MAX_NAME 1000 /* bytes of a class's name with its module */

enum
{
  CALLEE,
  ARGUMENTS,
  CONTENTS, /* what is put into it: a dictionary or a list */
  STATE,
  N_OF_CALL
};

struct _Pickle
{
  GPtrArray *values;
  PickleValue *root;
};

typedef struct
{
  Pickle *pickle;
  const guint8 *p, *end;
  GPtrArray *stack; /* PickleValue; NULL: a mark */
  GHashTable *memo; /* number → PickleValue */
  const char *path;
} Machine;

static void
value_free (gpointer data)
{
  PickleValue *value = data;

  if (value->items != NULL)
    g_ptr_array_unref (value->items);
  g_free ((char *)value->text);
  g_free (value);
}

void
pickle_free (Pickle *self)
{
  g_ptr_array_unref (self->values);
  g_free (self);
}

const PickleValue *
pickle_root (const Pickle *self)
{
  return self->root;
}

guint
pickle_count (const Pickle *self)
{
  return self->values->len;
}

const PickleValue *
pickle_value (const Pickle *self, guint i)
{
  return self->values->pdata[i];
}

/* ---- the machine ----------------------------------------------------------------- */

static gboolean
damaged (const Machine *m, GError **error)
{
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is truncated or damaged: its pickle is not well formed.", m->path);
}

static PickleValue *
push (Machine *m, PickleKind kind)
{
  PickleValue *value = g_new0 (PickleValue, 1);

  value->kind = kind;
  g_ptr_array_add (m->pickle->values, value);
  g_ptr_array_add (m->stack, value);
  return value;
}

static void
add_item (PickleValue *value, PickleValue *item)
{
  if (value->items == NULL)
    value->items = g_ptr_array_new ();
  g_ptr_array_add (value->items, item);
}

/* NULL: the stack is empty, or a mark is on it. */
static PickleValue *
pop (Machine *m)
{
  PickleValue *value;

  if (m->stack->len == 0)
    return NULL;
  value = m->stack->pdata[m->stack->len - 1];
  if (value != NULL)
    g_ptr_array_set_size (m->stack, (int)m->stack->len - 1);
  return value;
}

static PickleValue *
top (const Machine *m)
{
  return m->stack->len > 0 ? m->stack->pdata[m->stack->len - 1] : NULL;
}

/* The index above the last mark, or −1. */
static int
above_mark (const Machine *m)
{
  for (int i = (int)m->stack->len; i > 0; i--)
    if (m->stack->pdata[i - 1] == NULL)
      return i;
  return -1;
}

/* A little-endian number of n bytes. */
static gboolean
take_number (Machine *m, int n, guint64 *number)
{
  *number = 0;
  if (m->end - m->p < n)
    return FALSE;
  for (int i = 0; i < n; i++)
    *number |= (guint64)m->p[i] << (8 * i);
  m->p += n;
  return TRUE;
}

/* Bytes whose number is stored in `size` bytes before them; NULL if they are not all there. */
static const guint8 *
take_bytes (Machine *m, int size, gsize *n)
{
  const guint8 *bytes;
  guint64 length;

  if (!take_number (m, size, &length) || length > (guint64)(m->end - m->p))
    return NULL;
  bytes = m->p;
  m->p += length;
  *n = (gsize)length;
  return bytes;
}

/* A text, or bytes if it has a NUL, as those have by which protocol 2 stores a number of NumPy, or half a surrogate. */
static gboolean
push_text (Machine *m, int size)
{
  gsize n;
  const guint8 *bytes = take_bytes (m, size, &n);

  if (bytes == NULL)
    return FALSE;
  if (g_utf8_validate ((const char *)bytes, (gssize)n, NULL))
    push (m, PICKLE_TEXT)->text = g_strndup ((const char *)bytes, n);
  else
    push (m, PICKLE_BYTES);
  return TRUE;
}

/* A signed integer of any length; of more than 8 bytes the lowest. */
static gboolean
push_long (Machine *m, int size)
{
  gsize n;
  const guint8 *bytes = take_bytes (m, size, &n);
  guint64 value = 0;

  if (bytes == NULL)
    return FALSE;
  for (gsize i = 0; i < MIN (n, 8); i++)
    value |= (guint64)bytes[i] << (8 * i);
  if (n > 0 && n < 8 && (bytes[n - 1] & 0x80) != 0)
    value |= ~(guint64)0 << (8 * n);
  push (m, PICKLE_INT)->integer = (gint64)value;
  return TRUE;
}

static gboolean
push_integer (Machine *m, int size)
{
  guint64 value;

  if (!take_number (m, size, &value))
    return FALSE;
  push (m, PICKLE_INT)->integer = size == 4 ? (gint32)value : (gint64)value;
  return TRUE;
}

/* A float of 8 bytes, the highest first. */
static gboolean
push_float (Machine *m)
{
  guint64 bits = 0;

  if (m->end - m->p < 8)
    return FALSE;
  for (int i = 0; i < 8; i++)
    bits = bits << 8 | m->p[i];
  m->p += 8;
  memcpy (&push (m, PICKLE_FLOAT)->number, &bits, 8);
  return TRUE;
}

static gboolean
push_bool (Machine *m, gboolean yes)
{
  push (m, PICKLE_BOOL)->integer = yes;
  return TRUE;
}

/* What is above the last mark, or the n topmost values, become one. */
static gboolean
collect (Machine *m, PickleKind kind, int n)
{
  int from = n < 0 ? above_mark (m) : (int)m->stack->len - n;
  PickleValue *value;

  if (from < 0 || (kind == PICKLE_DICT && (m->stack->len - (guint)from) % 2 != 0))
    return FALSE;
  for (guint i = (guint)from; i < m->stack->len; i++)
    if (m->stack->pdata[i] == NULL)
      return FALSE;
  value = push (m, kind);
  for (guint i = (guint)from; i + 1 < m->stack->len; i++)
    add_item (value, m->stack->pdata[i]);
  g_ptr_array_set_size (m->stack, n < 0 ? from - 1 : from);
  g_ptr_array_add (m->stack, value);
  return TRUE;
}

/* Where items of a value are put: in itself, or in the contents of an object. */
static PickleValue *
contents_of (Machine *m, PickleValue *value, PickleKind kind)
{
  PickleValue *contents;

  if (value == NULL || value->kind != PICKLE_CALL)
    return value != NULL && value->kind == kind ? value : NULL;
  contents = value->items->pdata[CONTENTS];
  if (contents->kind == PICKLE_NONE)
    {
      contents = push (m, kind);
      pop (m);
      value->items->pdata[CONTENTS] = contents;
    }
  return contents->kind == kind ? contents : NULL;
}

/* Puts what is above the last mark, or the n topmost values, into the value below. */
static gboolean
put (Machine *m, PickleKind kind, int n)
{
  const int from = n < 0 ? above_mark (m) : (int)m->stack->len - n;
  const int below = n < 0 ? from - 2 : from - 1;
  const guint end = m->stack->len;
  PickleValue *value = from >= 0 && below >= 0 ? contents_of (m, m->stack->pdata[below], kind) : NULL;

  if (value == NULL || (kind == PICKLE_DICT && (end - (guint)from) % 2 != 0))
    return FALSE;
  for (guint i = (guint)from; i < end; i++)
    if (m->stack->pdata[i] == NULL)
      return FALSE;
  for (guint i = (guint)from; i < end; i++)
    add_item (value, m->stack->pdata[i]);
  g_ptr_array_set_size (m->stack, below + 1);
  return TRUE;
}

static gboolean
push_name (Machine *m, const char *module, gsize n_module, const char *name, gsize n_name)
{
  if (n_module + n_name > MAX_NAME || !g_utf8_validate (module, (gssize)n_module, NULL)
      || !g_utf8_validate (name, (gssize)n_name, NULL))
    return FALSE;
  push (m, PICKLE_NAME)->text = g_strdup_printf ("%.*s %.*s", (int)n_module, module, (int)n_name, name);
  return TRUE;
}

/* Two lines. */
static gboolean
read_name (Machine *m)
{
  const guint8 *first = m->p, *line = memchr (first, '\n', (gsize)(m->end - first));
  const guint8 *second = line != NULL ? line + 1 : NULL;
  const guint8 *end = second != NULL ? memchr (second, '\n', (gsize)(m->end - second)) : NULL;

  if (end == NULL)
    return FALSE;
  m->p = end + 1;
  return push_name (m, (const char *)first, (gsize)(line - first), (const char *)second, (gsize)(end - second));
}

static gboolean
stack_name (Machine *m)
{
  const PickleValue *name = pop (m), *module = pop (m);

  return name != NULL && module != NULL && name->kind == PICKLE_TEXT && module->kind == PICKLE_TEXT
         && push_name (m, module->text, strlen (module->text), name->text, strlen (name->text));
}

/* Records a call of the value below n arguments, of which the last is taken if there are several. */
static gboolean
call (Machine *m, int n)
{
  PickleValue *keywords = n == 2 ? pop (m) : NULL, *arguments = pop (m), *callee = pop (m), *nothing, *value;

  if (callee == NULL || arguments == NULL || (n == 2 && keywords == NULL))
    return FALSE;
  nothing = push (m, PICKLE_NONE);
  pop (m);
  value = push (m, PICKLE_CALL);
  add_item (value, callee);
  add_item (value, arguments);
  add_item (value, nothing);
  add_item (value, nothing);
  return TRUE;
}

static gboolean
set_state (Machine *m)
{
  PickleValue *state = pop (m), *value = top (m);

  if (state == NULL || value == NULL)
    return FALSE;
  if (value->kind == PICKLE_CALL)
    value->items->pdata[STATE] = state;
  return TRUE;
}

static gboolean
remember (Machine *m, guint64 number)
{
  PickleValue *value = top (m);

  if (value == NULL || number > G_MAXUINT32)
    return FALSE;
  g_hash_table_insert (m->memo, GUINT_TO_POINTER ((guint)number), value);
  return TRUE;
}

static gboolean
recall (Machine *m, int size)
{
  guint64 number;
  PickleValue *value
      = take_number (m, size, &number) ? g_hash_table_lookup (m->memo, GUINT_TO_POINTER ((guint)number)) : NULL;

  if (value == NULL)
    return FALSE;
  g_ptr_array_add (m->stack, value);
  return TRUE;
}

static gboolean
skip_bytes (Machine *m, int size)
{
  gsize n;

  if (take_bytes (m, size, &n) == NULL)
    return FALSE;
  push (m, PICKLE_BYTES);
  return TRUE;
}

static gboolean
pop_mark (Machine *m)
{
  const int from = above_mark (m);

  if (from < 0)
    return FALSE;
  g_ptr_array_set_size (m->stack, from - 1);
  return TRUE;
}

/* One opcode; the names are those of pickletools. *known is FALSE for those that are refused. */
static gboolean
step (Machine *m, guint8 opcode, gboolean *known)
{
  guint64 number;

  switch (opcode)
    {
    case 0x80: /* PROTO */
      return take_number (m, 1, &number) && number <= 5;
    case 0x95: /* FRAME */
      return take_number (m, 8, &number);
    case '(': /* MARK */
      g_ptr_array_add (m->stack, NULL);
      return TRUE;
    case 'N':
      push (m, PICKLE_NONE);
      return TRUE;
    case 0x88: /* NEWTRUE */
    case 0x89:
      return push_bool (m, opcode == 0x88);
    case 'K': /* BININT1 */
      return push_integer (m, 1);
    case 'M': /* BININT2 */
      return push_integer (m, 2);
    case 'J': /* BININT */
      return push_integer (m, 4);
    case 0x8a: /* LONG1 */
      return push_long (m, 1);
    case 0x8b: /* LONG4 */
      return push_long (m, 4);
    case 'G': /* BINFLOAT */
      return push_float (m);
    case 0x8c: /* SHORT_BINUNICODE */
      return push_text (m, 1);
    case 'X': /* BINUNICODE */
      return push_text (m, 4);
    case 0x8d: /* BINUNICODE8 */
      return push_text (m, 8);
    case 'U': /* SHORT_BINSTRING */
      return push_text (m, 1);
    case 'T': /* BINSTRING */
      return push_text (m, 4);
    case 'C': /* SHORT_BINBYTES */
      return skip_bytes (m, 1);
    case 'B': /* BINBYTES */
      return skip_bytes (m, 4);
    case 0x8e: /* BINBYTES8 */
    case 0x96: /* BYTEARRAY8 */
      return skip_bytes (m, 8);
    case ')': /* EMPTY_TUPLE */
      return collect (m, PICKLE_TUPLE, 0);
    case 0x85: /* TUPLE1 */
    case 0x86:
    case 0x87:
      return collect (m, PICKLE_TUPLE, opcode - 0x84);
    case 't': /* TUPLE */
      return collect (m, PICKLE_TUPLE, -1);
    case ']':  /* EMPTY_LIST */
    case 0x8f: /* EMPTY_SET */
      return collect (m, PICKLE_LIST, 0);
    case 'l':  /* LIST */
    case 0x91: /* FROZENSET */
      return collect (m, PICKLE_LIST, -1);
    case '}': /* EMPTY_DICT */
      return collect (m, PICKLE_DICT, 0);
    case 'd': /* DICT */
      return collect (m, PICKLE_DICT, -1);
    case 'a': /* APPEND */
      return put (m, PICKLE_LIST, 1);
    case 'e':  /* APPENDS */
    case 0x90: /* ADDITEMS */
      return put (m, PICKLE_LIST, -1);
    case 's': /* SETITEM */
      return put (m, PICKLE_DICT, 2);
    case 'u': /* SETITEMS */
      return put (m, PICKLE_DICT, -1);
    case '0': /* POP */
      return pop (m) != NULL || pop_mark (m);
    case '1': /* POP_MARK */
      return pop_mark (m);
    case 'q': /* BINPUT */
      return take_number (m, 1, &number) && remember (m, number);
    case 'r': /* LONG_BINPUT */
      return take_number (m, 4, &number) && remember (m, number);
    case 0x94: /* MEMOIZE */
      return remember (m, g_hash_table_size (m->memo));
    case 'h': /* BINGET */
      return recall (m, 1);
    case 'j': /* LONG_BINGET */
      return recall (m, 4);
    case 'c': /* GLOBAL */
      return read_name (m);
    case 0x93: /* STACK_GLOBAL */
      return stack_name (m);
    case 'R':  /* REDUCE */
    case 0x81: /* NEWOBJ */
      return call (m, 1);
    case 0x92: /* NEWOBJ_EX */
      return call (m, 2);
    case 'b': /* BUILD */
      return set_state (m);
    case 'Q': /* BINPERSID */
      return collect (m, PICKLE_PERSISTENT, 1);
    default:
      *known = FALSE;
      return FALSE;
    }
}

Pickle *
pickle_read (const guint8 *data, gsize length, gsize file_size, gsize *used, const char *path, GError **error)
{
  g_autoptr (Pickle) self = g_new0 (Pickle, 1);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  g_autoptr (GHashTable) memo = g_hash_table_new (NULL, NULL);
  Machine m = { self, data, data + MIN (length, PICKLE_MAX_LENGTH), stack, memo, path };
  gboolean known = TRUE;

  self->values = g_ptr_array_new_with_free_func (value_free);
  while (m.p < m.end && *m.p != '.')
    {
      if (self->values->len > PICKLE_VALUES (file_size))
        return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” has a pickle of too many values for weights.", path);

      const guint8 opcode = *m.p++;

      if (step (&m, opcode, &known))
        continue;
      if (known)
        damaged (&m, error);
      else
        loom_refuse (error, LOOM_ERROR_DATA,
                     "“%s” has a pickle with the opcode 0x%02x, which no file of weights needs, and which is not read.",
                     path, opcode);
      return NULL;
    }
  self->root = m.p < m.end ? pop (&m) : NULL;
  if (self->root == NULL)
    {
      damaged (&m, error);
      return NULL;
    }
  if (used != NULL)
    *used = (gsize)(m.p + 1 - data);
  return g_steal_pointer (&self);
}

/* ---- queries ----------------------------------------------------------------------- */

const PickleValue *
pickle_get (const PickleValue *dict, const char *key)
{
  const PickleValue *value = pickle_dict (dict);

  for (guint i = 0; value != NULL && value->items != NULL && i + 1 < value->items->len; i += 2)
    {
      const PickleValue *k = value->items->pdata[i];

      if (k->kind == PICKLE_TEXT && g_str_equal (k->text, key))
        return value->items->pdata[i + 1];
    }
  return NULL;
}

const PickleValue *
pickle_item (const PickleValue *value, guint i, PickleKind kind)
{
  const PickleValue *item
      = value != NULL && value->items != NULL && i < value->items->len ? value->items->pdata[i] : NULL;

  return item != NULL && item->kind == kind ? item : NULL;
}

const char *
pickle_callee (const PickleValue *value)
{
  const PickleValue *callee
      = value != NULL && value->kind == PICKLE_CALL ? pickle_item (value, CALLEE, PICKLE_NAME) : NULL;

  return callee != NULL ? callee->text : NULL;
}

const PickleValue *
pickle_arguments (const PickleValue *value)
{
  return value != NULL && value->kind == PICKLE_CALL ? pickle_item (value, ARGUMENTS, PICKLE_TUPLE) : NULL;
}

const PickleValue *
pickle_state (const PickleValue *value)
{
  return value != NULL && value->kind == PICKLE_CALL ? value->items->pdata[STATE] : NULL;
}

const PickleValue *
pickle_dict (const PickleValue *value)
{
  if (value != NULL && value->kind == PICKLE_CALL)
    return pickle_item (value, CONTENTS, PICKLE_DICT);
  return value != NULL && value->kind == PICKLE_DICT ? value : NULL;
}
