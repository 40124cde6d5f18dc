# Machine code between the lines of the Tree, for any instruction set; and the report.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/4 k m n:v
$ loopwright show mm.tc --size M=16,K=64,N=32 --schedule mm.lws --stage asm --isa avx512 > mm.s
$ grep -o '#   [4-8].*' mm.s | sort -u
#   4 |       C[4*m + m.1, n] = 0.0
#   5 |   for k in 64
#   8 |         C[4*m + m.1, n] += A[4*m + m.1, k]*B[k, n]
$ grep -c 'vfmadd231ps zmm' mm.s
{{[1-9]\d*}}
$ loopwright show mm.tc --size M=16,K=64,N=32 --schedule mm.lws --stage asm --isa avx2 | grep -c zmm
0
--- exit 1
$ loopwright show mm.tc --size M=16,K=64,N=32 --stage asm --isa neon
--- stderr
loopwright show: --isa takes scalar, avx2 or avx512, not 'neon'
usage: loopwright show FILE [options]; --help explains them
--- exit 2
$ loopwright show mm.tc --size M=16,K=64,N=32 --schedule mm.lws --stage report --isa avx512
mm for avx512: {{\d+}} bytes of code, 0 of scratch memory; tree verified
  work     65536 operations on 14336 bytes, 4.6 each
  compile  {{front .*, bind .*, database .*, schedule .*, lower .*, verify .*, plan .*, generate .*, install .* us; .*}}
{{}}
  nest at lines 1-8: for m in 4, {{\d+}} bytes
    line  loop                         block        sums  fma load store instr  bytes   cycles  bound by
       5  for k in 64                  4 x 32          8 {{.*}}
          ports: fma {{.*}} fma per load, {{\d+}} % of peak
{{}}
  declined  nothing
$ loopwright show mm.tc --size M=16,K=64,N=32 --schedule mm.lws --stage report --isa avx512 --json | grep -o '"accumulators": 8'
"accumulators": 8
$ loopwright show mm.tc --size M=16,K=64,N=32 --schedule mm.lws --stage report --isa scalar | tail -2
    line 7: the vector loop runs as a serial one: the ISA is scalar
    line 5: the sums of block 4 x 32 do not fit in 16 registers; each is loaded and stored in every turn
