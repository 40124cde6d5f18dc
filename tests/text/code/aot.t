# Machine code ahead of time: what is written, and what is refused.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- next.tc
def next(float(N) a, float(N) b) -> (c) {
    c(i) = nextafter(a(i), b(i))
}
$ loopwright compile mv.tc --size M=4,K=3 --emit obj -o mv.o --json
{"command": "compile", "file": "mv.tc", "sizes": {"M": 4, "K": 3}, "function": "mv", "object": "mv.o", "header": "mv.h", "diagnostics": [], "ok": true}
$ grep '^int\|^#define mv' mv.h
int mv(const float *restrict A, const float *restrict x, float *restrict C);
int mv_kernel(void *const *buffers, void *scratch, const struct KernelEnv *env);
#define mv_scratch        INT64_C(0)
#define mv_thread_scratch INT64_C(0)
$ loopwright compile mv.tc --size M=4,K=3 --emit asm -o mv.s && grep -o '[.]globl.*\|#.*[+]=.*' mv.s | sort -u
#   5 |     C[m] += A[m, k]*x[k]
.globl mv
.globl mv_kernel
$ loopwright compile next.tc --size N=4 --emit obj -o next.o
--- stderr
error: an object file cannot contain 'nextafter' of f32 to f32, which calls into the library
note: use --emit c instead
--- exit 1
$ loopwright compile mv.tc --size M=4,K=3 --emit so
--- stderr
loopwright compile: where to? -o FILE.so
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
