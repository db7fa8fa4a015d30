/* A mesh: the ranks of a run laid out along axes, with a communicator for each line of them. */
#pragma once

#include <glib.h>

#include "kernels/comm.h"

/* A rank's coordinates: rank = (at[DATA] · size[PIPELINE] + at[PIPELINE]) · size[TENSOR] + at[TENSOR]. */
typedef struct
{
  int size[LOOM_MESH_AXES], at[LOOM_MESH_AXES];
  LoomComm *all;                   /* NULL: nothing is exchanged */
  LoomComm *along[LOOM_MESH_AXES]; /* the ranks that differ only in this coordinate; NULL: there are none */
} LoomMesh;

/* The coordinates of `rank` in a mesh of size[0] · size[1] · size[2] ranks, without communicators. */
LoomMesh loom_mesh (int rank, const int size[LOOM_MESH_AXES]);
/* The mesh of `all`, whose size is the product of `size` and which must outlive the mesh. The ranks and sizes of its
 * communicators are known at once, for planning; exchanges are possible after loom_mesh_join(). */
LoomMesh loom_mesh_open (LoomComm *all, const int size[LOOM_MESH_AXES]);
/* Called by all ranks together before the first exchange along an axis. A second call does nothing. */
LoomStatus loom_mesh_join (LoomMesh *mesh, LoomMessage *message);
void loom_mesh_close (LoomMesh *mesh);
