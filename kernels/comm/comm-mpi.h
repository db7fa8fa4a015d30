/* Declarations shared by the files of MPI's communicator. */
#pragma once

#include "kernels/comm.h"

#include <mpi.h>

/* A sent message that may not have arrived: MPI reads it until then. */
typedef struct PendingSend PendingSend;
struct PendingSend
{
  PendingSend *next;
  MPI_Request request;
  char data[];
};

typedef struct Mpi Mpi;
struct Mpi
{
  LoomComm base;
  MPI_Comm comm;
  Mpi *first;  /* the communicator from which it was split; NULL: it is the first one */
  int *number; /* by rank: its number in the first one; NULL in the first one */
  PendingSend *pending_sends;
  char *buffer; /* receives data */
  size_t buffer_bytes;
  const void **part;                        /* by rank */
  int64_t *count;                           /* likewise */
  int *n_send, *at_send, *n_take, *at_take; /* by rank */

  /* Of calls with a time-out (comm-mpi-wait.c). */
  MPI_Comm roll;        /* for roll calls, separate from the data */
  MPI_Request *request; /* by rank, and once more for answers */
  bool *arrived;        /* by rank */
  const char *call;     /* the current one */
  bool answered;        /* it answered the roll call of the next call, from within this one */
  bool ended;           /* by a time-out: no call is made any more */
  bool *all;            /* by rank of the first one, for sentences; NULL in others */
  LoomMessage why;      /* the reason of the end */
};

LoomStatus mpi_failed (int code, LoomMessage *message);
/* TRUE if later calls fail: this communicator has ended, or the one from which it was split. */
bool mpi_has_ended (const Mpi *m);

/* Returns once all ranks have begun this call; without a time-out at once. */
LoomStatus mpi_roll_call (Mpi *m, const char *call, LoomMessage *message);
/* Returns once the request is complete. */
LoomStatus mpi_wait (Mpi *m, MPI_Request *request, LoomMessage *message);
/* Returns once the message of another rank has arrived. */
LoomStatus mpi_wait_for (Mpi *m, MPI_Request *request, int from, LoomMessage *message);
/* Waits until any rank has sent a message with this tag. */
LoomStatus mpi_probe (Mpi *m, int tag, const bool *arrived, int *from, LoomMessage *message);
/* Ends the processes of all ranks if a call has timed out. */
void mpi_leave (Mpi *m);
