/* Lays out the ranks of a run along axes, with a communicator for each line of the mesh.
 *
 * Partitioning and planning need the sizes of the axes before all ranks have agreed on the plan, so before anything can
 * be exchanged. A line's communicator therefore exists from the start and forwards its calls to one that is split off
 * all ranks later. */
#include "engine/plan/loom-mesh.h"

typedef struct
{
  LoomComm base;
  LoomComm *all, *real; /* real: NULL until all ranks have joined */
} Line;

#define REAL(self) (((Line *)(self))->real)

static LoomStatus
all_reduce (LoomComm *self, const void *from, void *to, gint64 count, LoomDType dtype, LoomReduceOp op,
            LoomMessage *message)
{
  return REAL (self)->all_reduce (REAL (self), from, to, count, dtype, op, message);
}

static LoomStatus
reduce_scatter (LoomComm *self, const void *from, void *to, const gint64 *counts, LoomDType dtype, LoomReduceOp op,
                LoomMessage *message)
{
  return REAL (self)->reduce_scatter (REAL (self), from, to, counts, dtype, op, message);
}

static LoomStatus
all_gather (LoomComm *self, const void *from, void *to, const gint64 *bytes, LoomMessage *message)
{
  return REAL (self)->all_gather (REAL (self), from, to, bytes, message);
}

static LoomStatus
broadcast (LoomComm *self, void *data, gint64 bytes, int root, LoomMessage *message)
{
  return REAL (self)->broadcast (REAL (self), data, bytes, root, message);
}

static LoomStatus
line_send (LoomComm *self, const void *data, gint64 bytes, int to, int tag, LoomMessage *message)
{
  return REAL (self)->send (REAL (self), data, bytes, to, tag, message);
}

static LoomStatus
line_receive (LoomComm *self, void *data, gint64 bytes, int from, int tag, LoomMessage *message)
{
  return REAL (self)->receive (REAL (self), data, bytes, from, tag, message);
}

static LoomStatus
line_probe (LoomComm *self, int tag, const bool *come, int *from, LoomMessage *message)
{
  return REAL (self)->probe (REAL (self), tag, come, from, message);
}

static LoomStatus
barrier (LoomComm *self, LoomMessage *message)
{
  return REAL (self)->barrier (REAL (self), message);
}

static LoomStatus
split (LoomComm *self, int color, int key, LoomComm **part, LoomMessage *message)
{
  return REAL (self)->split (REAL (self), color, key, part, message);
}

static void
line_abort (LoomComm *self, const char *why)
{
  LoomComm *all = ((Line *)self)->all;

  all->abort (all, why);
}

static bool
line_has_ended (LoomComm *self)
{
  LoomComm *all = ((Line *)self)->all;

  return all->has_ended (all);
}

static void
line_free (LoomComm *self)
{
  if (REAL (self) != NULL)
    REAL (self)->free (REAL (self));
  g_free (self);
}

static LoomComm *
line_new (LoomComm *all, int rank, int size)
{
  Line *line = g_new0 (Line, 1);

  line->base = (LoomComm){ .rank = rank,
                           .size = size,
                           .local_rank = rank,
                           .local_size = size,
                           .cpu_sharers = size,
                           .name = all->name,
                           .timeout = all->timeout,
                           .all_reduce = all_reduce,
                           .reduce_scatter = reduce_scatter,
                           .all_gather = all_gather,
                           .broadcast = broadcast,
                           .send = line_send,
                           .receive = line_receive,
                           .probe = line_probe,
                           .barrier = barrier,
                           .split = split,
                           .abort = line_abort,
                           .has_ended = line_has_ended,
                           .free = line_free };
  line->all = all;
  return &line->base;
}

LoomMesh
loom_mesh (int rank, const int size[LOOM_MESH_AXES])
{
  LoomMesh mesh = { .all = NULL };

  for (int axis = LOOM_MESH_AXES - 1; axis >= 0; axis--)
    {
      mesh.size[axis] = size[axis];
      mesh.at[axis] = rank % size[axis];
      rank /= size[axis];
    }
  return mesh;
}

LoomMesh
loom_mesh_open (LoomComm *all, const int size[LOOM_MESH_AXES])
{
  LoomMesh mesh = loom_mesh (all->rank, size);

  mesh.all = all;
  for (int axis = 0; axis < LOOM_MESH_AXES; axis++)
    if (size[axis] > 1)
      mesh.along[axis] = size[axis] == all->size ? all : line_new (all, mesh.at[axis], size[axis]);
  return mesh;
}

/* The colour of the split: the first rank of this rank's line along an axis. */
static int
line_of (const LoomMesh *mesh, int axis)
{
  int first = 0;

  for (int k = 0; k < LOOM_MESH_AXES; k++)
    first = first * mesh->size[k] + (k == axis ? 0 : mesh->at[k]);
  return first;
}

LoomStatus
loom_mesh_join (LoomMesh *mesh, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (int axis = 0; axis < LOOM_MESH_AXES && status == LOOM_STATUS_OK; axis++)
    if (mesh->along[axis] != NULL && mesh->along[axis] != mesh->all && REAL (mesh->along[axis]) == NULL)
      status = mesh->all->split (mesh->all, line_of (mesh, axis), mesh->at[axis], &REAL (mesh->along[axis]), message);
  return status;
}

void
loom_mesh_close (LoomMesh *mesh)
{
  for (int axis = 0; axis < LOOM_MESH_AXES; axis++)
    {
      if (mesh->along[axis] != NULL && mesh->along[axis] != mesh->all)
        mesh->along[axis]->free (mesh->along[axis]);
      mesh->along[axis] = NULL;
    }
  mesh->all = NULL;
}
