/* What the files of MPI's communicator share. */
#pragma once

#include "kernels/comm.h"

#include <mpi.h>

/* A message that was sent and may not have arrived: MPI reads it until then. */
typedef struct Letter Letter;
struct Letter
{
  Letter *next;
  MPI_Request request;
  char data[];
};

typedef struct Mpi Mpi;
struct Mpi
{
  LoomComm base;
  MPI_Comm comm;
  Mpi *first;  /* from which it was split off; NULL: it is the first one */
  int *number; /* by rank: which of the first one it is; NULL there */
  Letter *letters;
  char *room; /* what is received */
  size_t room_bytes;
  const void **part;                        /* by rank */
  int64_t *count;                           /* likewise */
  int *n_send, *at_send, *n_take, *at_take; /* by rank */

  /* Of calls with a time-out (comm-mpi-wait.c). */
  MPI_Comm roll;        /* where ranks say that they have come, apart from what they exchange */
  MPI_Request *request; /* by rank, and once more for answers */
  bool *come;           /* by rank */
  const char *call;     /* in which it is */
  bool answered;        /* the roll of the next call, from within this one */
  bool ended;           /* by a time-out: nothing is called any more */
  bool *all;            /* by rank of the first one, for sentences; NULL there */
  LoomMessage why;      /* what it was ended by */
};

LoomStatus mpi_failed (int code, LoomMessage *message);
/* Whether calls fail from here on: this communicator has ended, or the one that it was split off. */
bool mpi_has_ended (const Mpi *m);

/* Returns once all ranks have begun this call; without a time-out at once. */
LoomStatus mpi_roll_call (Mpi *m, const char *call, LoomMessage *message);
/* Returns once the request is complete. */
LoomStatus mpi_wait (Mpi *m, MPI_Request *request, LoomMessage *message);
/* Returns once what another rank sends has come. */
LoomStatus mpi_wait_for (Mpi *m, MPI_Request *request, int from, LoomMessage *message);
/* Until any rank has sent something with this tag. */
LoomStatus mpi_await (Mpi *m, int tag, const bool *come, int *from, LoomMessage *message);
/* Ends the processes of all ranks, where a call has timed out. */
void mpi_leave (Mpi *m);
