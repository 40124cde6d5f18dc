# The file and its header stand alone: a program that knows nothing of Loopwright uses them.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) { C(m) +=! A(m,k) * x(k) }
--- main.c
#include "mv.h"
#include <stdio.h>
int main(void) {
    const float A[6] = {1, 2, 3, 4, 5, 6}, x[3] = {1, 10, 100};
    float C[2];
    mv(A, x, C);
    printf("%g %g\n", C[0], C[1]);
    struct KernelEnv { uint32_t flags; } keep = {1};
    void *buffers[] = {(void *)A, (void *)x, C};
    int status = mv_kernel(buffers, NULL, (void *)&keep);
    printf("%d: %g %g\n", status, C[0], C[1]);
}
$ loopwright compile mv.tc --size M=2,K=3 --emit c -o mv.c
$ cc -std=c99 -Wall -Wextra -Werror -Wpedantic -O2 -ffp-contract=off mv.c main.c -lm -o main && ./main
321 654
0: 642 1308
$ loopwright compile mv.tc --size M=2,K=3 --emit c -o mv.c --json
{"command": "compile", "file": "mv.tc", "sizes": {"M": 2, "K": 3}, "function": "mv", "source": "mv.c", "header": "mv.h", "diagnostics": [], "ok": true}
$ loopwright compile mv.tc --size M=2,K=3 --emit c
--- stderr
loopwright compile: where to? -o FILE.c
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 -o mv.c
--- stderr
loopwright compile: what to write? --emit c, obj, asm, so, ptx, stripe or cubin
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 --emit exe -o mv
--- stderr
loopwright compile: --emit takes c, obj, asm, so, ptx, stripe or cubin, not 'exe'
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 --emit c -o nowhere/mv.c
--- stderr
error: cannot write 'nowhere/mv.c': No such file or directory
--- exit 1
$ loopwright compile mv.tc --size M=2,K=3 --emit c -o - > out.c && cc -std=c99 -Wall -Werror -c out.c && ls -- - -.h out.h 2>/dev/null
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 --emit obj -o mv.txt
--- stderr
loopwright compile: -o mv.txt: the name of the object file must end in .o; its header is written next to it
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 --emit c -o - --json
{"command": "compile", "error": "with --json standard output holds one object: -o FILE.c", "hint": "usage: loopwright compile FILE [options]; --help explains them", "diagnostics": [], "ok": false}
--- exit 2
$ loopwright compile mv.tc --size M=2,K=3 --emit asm -o mv.o
--- stderr
loopwright compile: -o mv.o: the name of the assembly file must end in .s; its header is written next to it
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
