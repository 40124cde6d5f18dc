# An option that would have no effect is refused, not taken in silence.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- mv.lws
C: m k
$ loopwright run mv.tc --size M=2,K=2 --backend interp --time
--- stderr
loopwright run: --time has no effect with --backend interp: it is for machine code
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mv.tc --size M=2,K=2 --backend tree --threads 2
--- stderr
loopwright run: --threads has no effect with --backend tree: it is for machine code
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright einsum i mv.tc --backend c --isa avx2
--- stderr
loopwright einsum: --isa has no effect with --backend c: it is for machine code
usage: loopwright einsum SUBSCRIPTS FILE... [options]; --help explains them
--- exit 2
$ loopwright show mv.tc --stage program --isa avx2
--- stderr
loopwright show: --isa has no effect on a Program, which has no loops
usage: loopwright show FILE [options]; --help explains them
--- exit 2
$ loopwright show mv.tc --size M=2,K=2 --stage asm --cost
--- stderr
loopwright show: --cost has no effect but with --stage tree
usage: loopwright show FILE [options]; --help explains them
--- exit 2
$ loopwright compile mv.tc --size M=2,K=2 --emit c -o mv.c --schedule mv.lws --isa avx2
--- stderr
loopwright compile: --isa has no effect with --schedule: it is for machine code, and to choose by
usage: loopwright compile FILE [options]; --help explains them
--- exit 2
$ loopwright space mv.tc --size M=2,K=2 --complete --samples 10
--- stderr
loopwright space: --samples has no effect with --complete
usage: loopwright space FILE [options]; --help explains them
--- exit 2
