/* Reads the boxes of pictures from the files of COCO (JSON) and PASCAL VOC (XML), and from masks. */
#pragma once

#include <glib.h>

typedef enum
{
  BOXES_OBJECT,
  BOXES_CROWD,     /* several objects, of which nothing is learnt */
  BOXES_DIFFICULT, /* hard to recognise */
  BOXES_N_KINDS
} BoxesKind;

typedef struct
{
  char *name;            /* of its class */
  double x1, y1, x2, y2; /* in pixels of the file's picture, from its left and upper edge */
  BoxesKind kind;
} BoxesObject;

typedef struct
{
  char *file;      /* relative to the folder of pictures */
  GArray *objects; /* BoxesObject */
} BoxesPicture;

/* The pictures of a file of COCO's, in its order; those without objects too. *classes (transfer full, may be NULL): the
 * names of the categories, by their numbers. NULL with DATA; also for a file name that leads out of its folder.
 * (transfer full), of BoxesPicture. */
GPtrArray *boxes_read_coco (const char *path, char ***classes, GError **error);
/* The objects of a picture by a file of VOC's. Its pixels are counted from 1 and include the last: xmin − 1 to xmax.
 * NULL with DATA. (transfer full) */
GArray *boxes_read_voc (const char *path, GError **error);
/* The objects of a mask in which each has a number of its own, all of one class: the smallest box around the pixels of
 * each number. NULL with IO or DATA. (transfer full) */
GArray *boxes_read_mask (const char *path, const char *class_name, GError **error);
