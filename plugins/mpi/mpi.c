// Messages by MPI: what `mpirun ... loopwright tune` loads (search/remote.h). `make mpi` builds it
// where mpicc is; nothing else of the project knows MPI.
//
// Sending copies and never waits; what was sent is forgotten once MPI is done with it. MPI is ended
// when the process is, unless some rank was lost: then nobody could wait for it.
#include <mpi.h>

#include "search/remote.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 7761 };

typedef struct Sent {
    struct Sent *next;
    MPI_Request request;
    char bytes[];
} Sent;

static struct {
    bool open, some_lost;
    pid_t pid;
    int rank, count;
    Sent *sent;
} state;

static void forget(void) {
    for (Sent **at = &state.sent; *at;) {
        Sent *s = *at;
        int done = 0;
        MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free(s);
    }
}

static void finish(void) {
    if (!state.open || getpid() != state.pid) return;
    for (int i = 0; state.sent && i < 1000; i++) { // others wait for the last words
        forget();
        if (state.sent) usleep(1000);
    }
    if (!state.some_lost) MPI_Finalize();
}

static bool open_mpi(int *rank, int *count) {
    if (!state.open) {
        int before = 0;
        MPI_Initialized(&before);
        if (!before && MPI_Init(NULL, NULL) != MPI_SUCCESS) return false;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
        MPI_Comm_size(MPI_COMM_WORLD, &state.count);
        state.pid = getpid();
        state.open = true;
        if (!before) atexit(finish);
    }
    *rank = state.rank;
    *count = state.count;
    return true;
}

static bool send_mpi(int to, const void *bytes, size_t size) {
    Sent *s = malloc(sizeof *s + size);
    if (!s || size > 1 << 30) return free(s), false;
    memcpy(s->bytes, bytes, size);
    forget();
    if (MPI_Isend(s->bytes, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &s->request) !=
        MPI_SUCCESS)
        return free(s), false;
    s->next = state.sent;
    state.sent = s;
    return true;
}

static long receive_mpi(void *into, size_t room, int *from) {
    MPI_Message message;
    MPI_Status status;
    int there = 0, size = 0;
    if (MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &message, &status) || !there)
        return -1;
    MPI_Get_count(&status, MPI_BYTE, &size);
    *from = status.MPI_SOURCE;
    char *bytes = (size_t)size <= room ? into : malloc((size_t)size);
    if (!bytes) return -1;
    MPI_Mrecv(bytes, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    if (bytes == into) return size;
    memcpy(into, bytes, room);
    free(bytes);
    return (long)room;
}

static void lost_mpi(int rank) {
    (void)rank;
    state.some_lost = true;
}

__attribute__((visibility("default"))) const Messenger *lw_messenger(void);
const Messenger *lw_messenger(void) {
    static const Messenger messenger = {MESSENGER_VERSION, open_mpi, send_mpi, receive_mpi,
                                        lost_mpi};
    return &messenger;
}
