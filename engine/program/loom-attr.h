/* Attributes of primitives as data: the members of a struct that determine a call. A primitive lists each member once;
 * comparing, hashing and listing calls, and the random attributes of tests, follow from the list. Tests find a member
 * that is not listed by its bytes and by samples that differ in it alone. Several primitives share the type of shapes
 * (LoomDims) and the words of reductions, which are also here. */
#pragma once

#include <glib.h>

#include "kernels/backend.h"

/* The shape of a result that does not follow from the operands. */
typedef struct
{
  int rank;
  gint64 dim[LOOM_MAX_RANK];
} LoomDims;

/* How a member is compared and listed: “name=” and what is quoted here. */
typedef enum
{
  LOOM_ATTR_END,
  LOOM_ATTR_INT,     /* any signed integer: “3”, a list as “[3,4]” */
  LOOM_ATTR_FLAG,    /* bool or gboolean: its name alone, if it is true */
  LOOM_ATTR_NUMBER,  /* double: “0.5”. -0 and 0 differ; all NaNs are equal */
  LOOM_ATTR_BITS,    /* 64 bits in hexadecimal */
  LOOM_ATTR_AXES,    /* a set of axes: “0,2” */
  LOOM_ATTR_WORD,    /* an enum, by `words`; a value whose word is NULL is not listed */
  LOOM_ATTR_SCALAR,  /* LoomScalarOp: its name; LOOM_SCALAR_ID is not listed */
  LOOM_ATTR_DTYPE,   /* LoomDType: its name */
  LOOM_ATTR_TEXT,    /* an array of char */
  LOOM_ATTR_DIMS,    /* LoomDims: “[2,3]” */
  LOOM_ATTR_PROGRAM, /* LoomProgram *, equal if it is the same one: the number of its instructions */
  LOOM_ATTR_GROUP,   /* a struct with attributes of its own, `fields` */
  LOOM_N_ATTR_KINDS
} LoomAttrKind;

typedef struct _LoomAttr LoomAttr;
struct _LoomAttr
{
  const char *name; /* in listings, before “=” unless it ends with a space or is empty; NULL: not listed */
  const char *member;
  LoomAttrKind kind;
  guint count;   /* elements of an array, else 1 */
  gsize at;      /* offset in the struct */
  gsize size;    /* of one element */
  gsize used_at; /* 1 + the offset of the int that is the number of elements in use; 0: all are */
  gsize if_at;   /* 1 + the offset of the bool without which the member has no meaning; 0: it always has */
  guint n_words;
  const char *const *words;
  const LoomAttr *fields;
  gboolean has_normal; /* not listed if all elements in use are `normal` */
  gint64 normal;
  int digits; /* of a NUMBER in listings; 0: six */
};

/* A member of a struct, or an array among its members. name: see LoomAttr. kind without LOOM_ATTR_. Other fields of
 * LoomAttr may follow. A list ends with LOOM_ATTR_LAST. */
#define LOOM_ATTR(name_, kind_, Type, member_, ...)                                                                    \
  {                                                                                                                    \
    .name = name_, .member = #member_, .kind = LOOM_ATTR_##kind_, .count = 1, .at = G_STRUCT_OFFSET (Type, member_),   \
    .size = sizeof (((Type *)NULL)->member_), __VA_ARGS__                                                              \
  }
#define LOOM_ATTR_ARRAY(name_, kind_, Type, member_, ...)                                                              \
  {                                                                                                                    \
    .name = name_, .member = #member_, .kind = LOOM_ATTR_##kind_, .at = G_STRUCT_OFFSET (Type, member_),               \
    .count = G_N_ELEMENTS (((Type *)NULL)->member_), .size = sizeof (((Type *)NULL)->member_[0]), __VA_ARGS__          \
  }
#define LOOM_ATTR_LAST                                                                                                 \
  {                                                                                                                    \
    .kind = LOOM_ATTR_END                                                                                              \
  }
#define LOOM_ATTR_USED(Type, member_) .used_at = G_STRUCT_OFFSET (Type, member_) + 1
#define LOOM_ATTR_IF(Type, member_)   .if_at = G_STRUCT_OFFSET (Type, member_) + 1
#define LOOM_ATTR_UNLESS(value_)      .has_normal = TRUE, .normal = value_
#define LOOM_ATTR_WORDS(words_)       .words = words_, .n_words = G_N_ELEMENTS (words_)

/* The number of elements that count in a struct: 0 if the member has no meaning in it. */
guint loom_attr_used (const LoomAttr *attr, const void *attrs);
/* TRUE if both structs determine the same call. Members without a meaning are not compared. */
gboolean loom_attrs_equal (const LoomAttr *list, const void *a, const void *b);
/* Equal structs have one hash. */
guint loom_attrs_hash (const LoomAttr *list, const void *attrs);
/* Appends “stride=[2,2] pad=[1,1]”, separated by spaces. */
void loom_attrs_append (GString *to, const LoomAttr *list, const void *attrs);

/* The words of LoomReduceOp. */
extern const char *const loom_reduce_words[LOOM_REDUCE_PROD + 1];
