/* The part of MPI's standard ABI (MPI 5.0, chapter 20) that the communicator uses: handles are pointers, and constants
 * have the same values in every library of the name libmpi_abi.so.1. So the module that is compiled against this file
 * runs over MPICH 5, Open MPI 6 and other such libraries, none of which is needed to build it. The other module is
 * compiled against the mpi.h of one MPI. */
#pragma once

#define MPI_SUCCESS                    0
#define MPI_ANY_SOURCE                 (-1)
#define MPI_THREAD_SERIALIZED          2048
#define MPI_COMM_TYPE_SHARED           221
#define MPI_MAX_ERROR_STRING           512
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;

#define MPI_COMM_WORLD      ((MPI_Comm)0x101)
#define MPI_INFO_NULL       ((MPI_Info)0x130)
#define MPI_ERRORS_RETURN   ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL    ((MPI_Request)0x180)
#define MPI_DATATYPE_NULL   ((MPI_Datatype)0x200)
#define MPI_INT             ((MPI_Datatype)0x209)
#define MPI_BYTE            ((MPI_Datatype)0x247)
#define MPI_IN_PLACE        ((void *)1)
#define MPI_STATUS_IGNORE   ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)

typedef struct
{
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int reserved[5]; /* used by the library */
} MPI_Status;

int MPI_Init_thread (int *argc, char ***argv, int required, int *provided);
int MPI_Finalize (void);
int MPI_Abort (MPI_Comm comm, int status);
int MPI_Get_library_version (char *version, int *length);
int MPI_Error_string (int code, char *text, int *length);

int MPI_Comm_rank (MPI_Comm comm, int *rank);
int MPI_Comm_size (MPI_Comm comm, int *size);
int MPI_Comm_dup (MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_split (MPI_Comm comm, int color, int key, MPI_Comm *part);
int MPI_Comm_split_type (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part);
int MPI_Comm_free (MPI_Comm *comm);
int MPI_Comm_set_errhandler (MPI_Comm comm, MPI_Errhandler handler);

int MPI_Isend (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irecv (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Recv (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Iprobe (int from, int tag, MPI_Comm comm, int *there, MPI_Status *status);
int MPI_Test (MPI_Request *request, int *done, MPI_Status *status);
int MPI_Testall (int n, MPI_Request *requests, int *done, MPI_Status *statuses);
int MPI_Wait (MPI_Request *request, MPI_Status *status);
int MPI_Request_free (MPI_Request *request);

int MPI_Barrier (MPI_Comm comm);
int MPI_Bcast (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Ibcast (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Allgather (const void *from, int n_from, MPI_Datatype type_from, void *to, int n_to, MPI_Datatype type_to,
                   MPI_Comm comm);
int MPI_Iallgather (const void *from, int n_from, MPI_Datatype type_from, void *to, int n_to, MPI_Datatype type_to,
                    MPI_Comm comm, MPI_Request *request);
int MPI_Allgatherv (const void *from, int n_from, MPI_Datatype type_from, void *to, const int *n_to, const int *at_to,
                    MPI_Datatype type_to, MPI_Comm comm);
int MPI_Iallgatherv (const void *from, int n_from, MPI_Datatype type_from, void *to, const int *n_to, const int *at_to,
                     MPI_Datatype type_to, MPI_Comm comm, MPI_Request *request);
int MPI_Alltoallv (const void *from, const int *n_from, const int *at_from, MPI_Datatype type_from, void *to,
                   const int *n_to, const int *at_to, MPI_Datatype type_to, MPI_Comm comm);
int MPI_Ialltoallv (const void *from, const int *n_from, const int *at_from, MPI_Datatype type_from, void *to,
                    const int *n_to, const int *at_to, MPI_Datatype type_to, MPI_Comm comm, MPI_Request *request);
