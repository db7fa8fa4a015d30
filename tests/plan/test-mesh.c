/* Tests meshes of threads: sums along each axis, and a rank that fails. */
#include "engine/plan/loom-mesh.h"
#include "tests/test-program.h"

#define RANKS 12
static const int size[LOOM_MESH_AXES] = { 2, 3, 2 };

/* Sums of ranks along each axis, computed by all lines of the mesh at once. */
static void
sum_lines (LoomComm *comm)
{
  LoomMessage message = { "" };
  LoomMesh mesh = loom_mesh_open (comm, size);

  g_assert_cmpint ((mesh.at[0] * size[1] + mesh.at[1]) * size[2] + mesh.at[2], ==, comm->rank);
  for (int axis = 0; axis < LOOM_MESH_AXES; axis++)
    {
      g_assert_cmpint (mesh.along[axis]->size, ==, size[axis]);
      g_assert_cmpint (mesh.along[axis]->rank, ==, mesh.at[axis]);
    }
  g_assert_cmpint (loom_mesh_join (&mesh, &message), ==, LOOM_STATUS_OK);
  for (int round = 0; round < 20; round++)
    for (int axis = 0; axis < LOOM_MESH_AXES; axis++)
      {
        int stride = axis == 0 ? size[1] * size[2] : axis == 1 ? size[2] : 1;
        gint64 own = comm->rank, sum = 0, want = 0;

        for (int k = 0; k < size[axis]; k++)
          want += comm->rank + (k - mesh.at[axis]) * stride;
        g_assert_cmpint (
            mesh.along[axis]->all_reduce (mesh.along[axis], &own, &sum, 1, LOOM_I64, LOOM_REDUCE_SUM, &message), ==,
            LOOM_STATUS_OK);
        g_assert_cmpint (sum, ==, want);
      }
  loom_mesh_close (&mesh);
}

/* A rank that waits on one line is notified of a failure on another. */
static void
give_up_elsewhere (LoomComm *comm)
{
  LoomMessage message = { "" };
  LoomMesh mesh = loom_mesh_open (comm, size);

  g_assert_cmpint (loom_mesh_join (&mesh, &message), ==, LOOM_STATUS_OK);
  if (comm->rank == 0)
    mesh.along[0]->abort (mesh.along[0], "rank 0 has no data");
  else
    while (mesh.along[2]->barrier (mesh.along[2], &message) == LOOM_STATUS_OK)
      ;
  if (comm->rank != 0)
    g_assert_cmpstr (message.text, ==, "rank 0 has no data");
  loom_mesh_close (&mesh);
}

typedef struct
{
  LoomComm *comm;
  void (*run) (LoomComm *comm);
} PlanGraph;

static gpointer
run_rank (gpointer data)
{
  PlanGraph *work = data;

  work->run (work->comm);
  return NULL;
}

static void
test_ranks (gconstpointer data)
{
  LoomComm *comm[RANKS];
  LoomMessage message = { "" };
  GThread *thread[RANKS];
  PlanGraph work[RANKS];

  g_assert_cmpint (loom_comm_threads_new (RANKS, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < RANKS; k++)
    {
      work[k] = (PlanGraph){ comm[k], data == NULL ? sum_lines : give_up_elsewhere };
      thread[k] = g_thread_new ("rank", run_rank, &work[k]);
    }
  for (int k = 0; k < RANKS; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < RANKS; k++)
    comm[k]->free (comm[k]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/mesh/sums", NULL, test_ranks);
  g_test_add_data_func ("/mesh/abort", "", test_ranks);
  return g_test_run ();
}
