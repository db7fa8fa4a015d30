/* A library of MPI's standard ABI with one rank. Its handles and constants are written here as numbers, those of
 * MPI 5.0, so that a wrong one in kernels/comm/abi/mpi.h fails. Calls that one rank does not make fail, too. */
#include <stdio.h>
#include <string.h>

#define WORLD ((void *)0x101)
#define COPY  ((void *)0x10000)
#define BYTE  ((void *)0x247)

int
MPI_Init_thread (int *argc, char ***argv, int required, int *provided)
{
  *provided = required;
  return required == 2048 ? 0 : 1; /* MPI_THREAD_SERIALIZED */
}

int
MPI_Get_library_version (char *version, int *length)
{
  *length = sprintf (version, "Alone   1.0\nof a test");
  return 0;
}

int
MPI_Comm_rank (void *comm, int *rank)
{
  *rank = 0;
  return 0;
}

int
MPI_Comm_size (void *comm, int *size)
{
  *size = 1;
  return 0;
}

int
MPI_Comm_dup (void *comm, void **copy)
{
  *copy = COPY;
  return comm == WORLD || comm == COPY ? 0 : 1;
}

int
MPI_Comm_split_type (void *comm, int type, int key, void *info, void **part)
{
  *part = COPY;
  return type == 221 && info == (void *)0x130 ? 0 : 1; /* MPI_COMM_TYPE_SHARED, MPI_INFO_NULL */
}

int
MPI_Comm_set_errhandler (void *comm, void *handler)
{
  return handler == (void *)0x143 ? 0 : 1; /* MPI_ERRORS_RETURN */
}

int
MPI_Allgather (const void *from, int n, void *type, void *to, int n_to, void *type_to, void *comm)
{
  if (type != BYTE || type_to != BYTE || n != n_to)
    return 1;
  memcpy (to, from, (size_t)n);
  return 0;
}

int
MPI_Allgatherv (const void *from, int n, void *type, void *to, const int *n_to, const int *at, void *type_to,
                void *comm)
{
  if (type_to != BYTE)
    return 1;
  if (from != (void *)1) /* MPI_IN_PLACE */
    memcpy ((char *)to + at[0], from, (size_t)n);
  return 0;
}

int
MPI_Alltoallv (const void *from, const int *n_from, const int *at_from, void *type_from, void *to, const int *n_to,
               const int *at_to, void *type_to, void *comm)
{
  return type_from == BYTE && type_to == BYTE && n_from[0] == 0 && n_to[0] == 0 ? 0 : 1;
}

int
MPI_Bcast (void *data, int n, void *type, int root, void *comm)
{
  return type == BYTE && root == 0 ? 0 : 1;
}

int
MPI_Comm_free (void **comm)
{
  *comm = NULL;
  return 0;
}

int
MPI_Barrier (void *comm)
{
  return 0;
}

int
MPI_Finalize (void)
{
  return 0;
}

int
MPI_Abort (void *comm, int status)
{
  return 1;
}

int
MPI_Error_string (int code, char *text, int *length)
{
  *length = sprintf (text, "a call of several ranks, or with other constants than those of the ABI");
  return 0;
}

#define FAILS(name)                                                                                                    \
  int name (void);                                                                                                     \
  int name (void)                                                                                                      \
  {                                                                                                                    \
    return 1;                                                                                                          \
  }

FAILS (MPI_Comm_split)
FAILS (MPI_Isend)
FAILS (MPI_Irecv)
FAILS (MPI_Recv)
FAILS (MPI_Iprobe)
FAILS (MPI_Test)
FAILS (MPI_Testall)
FAILS (MPI_Wait)
FAILS (MPI_Request_free)
FAILS (MPI_Ibcast)
FAILS (MPI_Iallgather)
FAILS (MPI_Iallgatherv)
FAILS (MPI_Ialltoallv)
