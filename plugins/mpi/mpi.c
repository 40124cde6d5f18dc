// Messages by MPI: what `mpirun ... loopwright tune` loads (search/remote.h). `make mpi` builds it
// where mpicc is; nothing else of the project knows MPI.
//
// Sending copies and never waits; what was sent is forgotten once MPI is done with it. MPI is ended
// when the process is, unless some rank was lost: then nobody could wait for it.
//
// A thread tells process 0, or process 0 all others, that this one is alive, and hears the same of
// them, whatever the process is at. MPI is used by one thread at a time (`lock`).
#include <mpi.h>

#include "search/remote.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 7761, TAG_ALIVE, ALIVE_EVERY = 200000 /* microseconds */ };

typedef struct Sent {
    struct Sent *next;
    MPI_Request request;
    char bytes[];
} Sent;

static struct {
    bool open, some_lost, ending;
    pid_t pid;
    int rank, count;
    Sent *sent;
    pthread_t alive;
    double *heard; // per process: when it last gave a sign of life
    bool *lost;
} state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell_alive(void) {
    for (int to = 0; to < state.count; to++) {
        MPI_Request request;
        if (to == state.rank || (state.rank && to) || state.lost[to]) continue;
        if (MPI_Isend(NULL, 0, MPI_BYTE, to, TAG_ALIVE, MPI_COMM_WORLD, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static void hear_alive(void) {
    MPI_Message message;
    MPI_Status status;
    int there = 0;
    while (MPI_Improbe(MPI_ANY_SOURCE, TAG_ALIVE, MPI_COMM_WORLD, &there, &message, &status) ==
               MPI_SUCCESS &&
           there) {
        MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        state.heard[status.MPI_SOURCE] = MPI_Wtime();
    }
}

static void *stay_alive(void *unused) {
    (void)unused;
    for (bool ending = false; !ending; usleep(ending ? 0 : ALIVE_EVERY)) {
        pthread_mutex_lock(&lock);
        tell_alive();
        hear_alive();
        ending = state.ending;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

// Called by whoever ends MPI, as a callback of what is attached to MPI_COMM_SELF.
static int end_alive(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    pthread_mutex_lock(&lock);
    bool ended = state.ending;
    state.ending = true;
    pthread_mutex_unlock(&lock);
    if (!ended) pthread_join(state.alive, NULL);
    return MPI_SUCCESS;
}

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
    end_alive(MPI_COMM_SELF, 0, NULL, NULL);
    for (int i = 0; state.sent && i < 1000; i++) { // others wait for the last words
        forget();
        if (state.sent) usleep(1000);
    }
    if (!state.some_lost) MPI_Finalize();
}

// A program that has begun MPI itself may use it at any time.
static bool start(void) {
    int before = 0, threads = 0, key;
    MPI_Initialized(&before);
    if (before)
        MPI_Query_thread(&threads);
    else if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS)
        return false;
    if (threads < (before ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED)) return false;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &state.count);
    state.heard = calloc((size_t)state.count, sizeof *state.heard);
    state.lost = calloc((size_t)state.count, sizeof *state.lost);
    if (!state.heard || !state.lost) return false;
    for (int i = 0; i < state.count; i++) state.heard[i] = MPI_Wtime();
    state.pid = getpid();
    state.open = pthread_create(&state.alive, NULL, stay_alive, NULL) == 0;
    if (!state.open) return false;
    if (!MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_alive, &key, NULL))
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    if (!before) atexit(finish);
    return true;
}

static bool open_mpi(int *rank, int *count) {
    if (!state.open && !start()) return false;
    *rank = state.rank;
    *count = state.count;
    return true;
}

static bool send_mpi(int to, const void *bytes, size_t size) {
    Sent *s = malloc(sizeof *s + size);
    if (!s || size > 1 << 30) return free(s), false;
    memcpy(s->bytes, bytes, size);
    pthread_mutex_lock(&lock);
    forget();
    bool sent = MPI_Isend(s->bytes, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &s->request) ==
                MPI_SUCCESS;
    if (sent) {
        s->next = state.sent;
        state.sent = s;
    }
    pthread_mutex_unlock(&lock);
    if (!sent) free(s);
    return sent;
}

static long receive_some(void *into, size_t room, int *from) {
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

static long receive_mpi(void *into, size_t room, int *from) {
    pthread_mutex_lock(&lock);
    long size = receive_some(into, room, from);
    pthread_mutex_unlock(&lock);
    return size;
}

static double silence_mpi(int rank) {
    pthread_mutex_lock(&lock);
    hear_alive();
    double seconds = MPI_Wtime() - state.heard[rank];
    pthread_mutex_unlock(&lock);
    return seconds;
}

static void lost_mpi(int rank) {
    pthread_mutex_lock(&lock);
    state.lost[rank] = state.some_lost = true;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) const Messenger *lw_messenger(void);
const Messenger *lw_messenger(void) {
    static const Messenger messenger = {MESSENGER_VERSION, open_mpi,    send_mpi,
                                        receive_mpi,       silence_mpi, lost_mpi};
    return &messenger;
}
