/* Reads the data of a pickle without running anything.
 *
 * A pickle is a program for a stack machine. Here it may only build numbers, texts, tuples, lists and dictionaries;
 * names of classes and functions stay names, and a call of one is a value that records the name and the arguments. All
 * other opcodes are refused. The format: Python's Lib/pickletools.py, protocols 2 to 5. */
#pragma once

#include <glib.h>

typedef enum
{
  PICKLE_NONE,
  PICKLE_BOOL,
  PICKLE_INT,
  PICKLE_FLOAT,
  PICKLE_TEXT,
  PICKLE_BYTES,
  PICKLE_TUPLE,
  PICKLE_LIST,
  PICKLE_DICT,      /* items: key, value, key, value … */
  PICKLE_NAME,      /* "torch._utils _rebuild_tensor_v2" in text */
  PICKLE_CALL,      /* items: what is called, its arguments; and for what follows it: what is set in it */
  PICKLE_PERSISTENT /* items: the id of an object that is stored elsewhere */
} PickleKind;

typedef struct _PickleValue PickleValue;
struct _PickleValue
{
  PickleKind kind;
  gint64 integer; /* also of a bool */
  double number;
  const char *text; /* UTF-8, ended by a zero; of bytes NULL */
  GPtrArray *items; /* PickleValue */
};

typedef struct _Pickle Pickle;

/* Reads one pickle of at most PICKLE_MAX_LENGTH bytes and PICKLE_VALUES (file_size) values, which ends at *used.
 * Errors: DATA. path, file_size: of the file that it is in, maybe packed. */
Pickle *pickle_read (const guint8 *data, gsize length, gsize file_size, gsize *used, const char *path, GError **error);
/* Names and sizes of a model's tensors have a few megabytes at most. */
#define PICKLE_MAX_LENGTH ((gsize)64 << 20)
/* A value takes up to 130 bytes; those of a file's own bytes and a million more bound the memory. */
#define PICKLE_VALUES(file_size) (4 * (file_size) + ((gsize)1 << 20))
void pickle_free (Pickle *self);
const PickleValue *pickle_root (const Pickle *self);
/* All values, in the order in which they were made. */
guint pickle_count (const Pickle *self);
const PickleValue *pickle_value (const Pickle *self, guint i);

/* The value of a key that is a text; NULL if there is none, or it is no dictionary. */
const PickleValue *pickle_get (const PickleValue *dict, const char *key);
/* Item i, if it is one of this kind; else NULL. */
const PickleValue *pickle_item (const PickleValue *value, guint i, PickleKind kind);
/* The name of what is called; NULL if it is no call, or no name is called. */
const char *pickle_callee (const PickleValue *value);
/* Arguments of a call, a tuple; or the state of an object. NULL if there are none. */
const PickleValue *pickle_arguments (const PickleValue *value);
const PickleValue *pickle_state (const PickleValue *value);
/* A dictionary, or a call of a class of dictionaries; the dictionary with its items, or NULL. */
const PickleValue *pickle_dict (const PickleValue *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Pickle, pickle_free)
