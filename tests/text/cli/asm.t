# Machine code between the lines of the Tree, for any instruction set; and the report.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/4 k m n:v
--- nested.lws
C: n/200 k/100 m/50 n/64 m/6 k m n:v
--- deep.lws
Z: i/900 i/800 i/700 i/600 i/500 i/450 i/400 i/350 i/300 i/250 i/200 i/180 i/160 i/140 i/120 i/100 i/90 i/80 i/70 i/60 i/50 i/40 i/20 i/16 i:v
--- z.tc
def z(float(N) A) -> (Z) {
    Z(i) = A(i) + 1.0
}
--- wide.lws
C: m/12 n/64 k m n:v
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
    line 5: sums are loaded and stored in every iteration: there are more of them than registers for sums (12)
$ loopwright show mm.tc --size M=333,K=333,N=333 --schedule nested.lws --stage report --isa avx512 | grep -E 'for k.1|declined'
      10  for k.1 in 100 where 332 - 1 6 x 64         24 {{.*}}
  declined  nothing
$ loopwright show mm.tc --size M=333,K=333,N=333 --schedule wide.lws --stage report --isa avx512 | tail -1
    line 6: sums are loaded and stored in every iteration: there are more of them than registers for sums (28)
$ loopwright show z.tc --size N=999 --schedule deep.lws --stage report --isa avx512 | tail -1
  declined  nothing
$ loopwright run z.tc --size N=999 --schedule deep.lws --check | grep check
  check    right: bit for bit, against the interpreter
