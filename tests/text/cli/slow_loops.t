# A mark that the machine code does not keep is warned of where somebody wrote it, with the reason.
--- add.tc
def add(byte(N) A, byte(N) B) -> (C) {
    C(i) = A(i) + B(i)
}
def sum(int32(M,N) A) -> (C) {
    C(n) +=! A(m,n)
}
--- add.lws
C: i:v
--- sum.lws
C: m:p n
$ loopwright run add.tc --def add --size N=20 --schedule add.lws --isa avx2 --time | tail -1
           [3, 0, 7, 4, 5, 6, ...]
--- stderr
warning: 'for i in 20 vector', line 1 of the tree: the vector loop runs as a serial one: this ISA has no masked access to types under 32 bits
$ loopwright compile add.tc --def add --size N=20 --schedule add.lws --isa avx2 --emit obj -o add.o
--- stderr
warning: 'for i in 20 vector', line 1 of the tree: the vector loop runs as a serial one: this ISA has no masked access to types under 32 bits
$ loopwright run add.tc --def sum --size M=3,N=20 --schedule sum.lws | tail -1
           [7, -1, -1, -4, 3, 1, ...]
--- stderr
warning: 'for m in 3 parallel', line 3 of the tree: the parallel loop runs on one thread: its iterations update the same elements of 'C', which the schedule does not privatise
$ loopwright run add.tc --def add --size N=20 --isa avx2 | tail -1
           [3, 0, 7, 4, 5, 6, ...]
$ loopwright run add.tc --def add --size N=20 --schedule add.lws --isa scalar | tail -1
           [3, 0, 7, 4, 5, 6, ...]
