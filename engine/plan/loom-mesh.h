/* A mesh: the ranks of a run laid out along axes, with a communicator for each line of them. */
#pragma once

#include <glib.h>

#include "kernels/comm.h"

G_BEGIN_DECLS

/* The place of a rank: rank = (at[DATA] · size[PIPELINE] + at[PIPELINE]) · size[TENSOR] + at[TENSOR]. */
typedef struct
{
  int size[LOOM_MESH_AXES], at[LOOM_MESH_AXES];
  LoomComm *all;                   /* NULL: nothing is exchanged */
  LoomComm *along[LOOM_MESH_AXES]; /* those that differ from this rank along one axis alone; NULL: there are none */
} LoomMesh;

/* The place of `rank` of size[0] · size[1] · size[2], without communicators. */
LoomMesh loom_mesh (int rank, const int size[LOOM_MESH_AXES]);
/* The mesh of `all`, whose size is the product, and which must live until it is closed. Its communicators know their
 * ranks and sizes at once, so that plans can be made with them; they exchange something after loom_mesh_join(). */
LoomMesh loom_mesh_open (LoomComm *all, const int size[LOOM_MESH_AXES]);
/* A call of all ranks together, before anything is exchanged along an axis; again, it does nothing. */
LoomStatus loom_mesh_join (LoomMesh *mesh, LoomMessage *message);
void loom_mesh_close (LoomMesh *mesh);

G_END_DECLS
