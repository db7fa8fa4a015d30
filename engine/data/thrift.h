/* Reads structures in Thrift's compact protocol into C structures, as tables of fields describe them.
 *
 * Fields that no table names are skipped, so files of newer writers are read. */
#pragma once

#include <glib.h>

typedef enum
{
  THRIFT_INT,     /* integers and booleans; gint64 */
  THRIFT_TEXT,    /* char *, which ends with 0 */
  THRIFT_STRUCT,  /* a structure inside this one */
  THRIFT_PRESENT, /* gint64 that becomes 1 if the field is there, whatever it contains */
  THRIFT_LIST     /* GArray * of structures */
} ThriftKind;

typedef struct _ThriftField ThriftField;
struct _ThriftField
{
  gint16 id; /* 0 ends a table */
  ThriftKind kind;
  gsize offset;
  const ThriftField *of; /* STRUCT and LIST: the fields of it */
  gsize size;            /* LIST: bytes of an element */
};

typedef struct
{
  const guint8 *p, *end;
} ThriftReader;

/* Fills a structure of zeros. FALSE if the bytes end early or have another form; the structure must be cleared then,
 * too. */
gboolean thrift_read (ThriftReader *self, const ThriftField *fields, gpointer out);
/* Frees texts and lists. */
void thrift_clear (const ThriftField *fields, gpointer out);
