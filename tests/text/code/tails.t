# Sums of rows under splits that do not divide stay in registers throughout the loop n, so that nothing in it is shuffled: 9 of the 5 x 2 copies of a
# row exist, which is all that AVX2 has registers for; and an iteration of the split n/60 that exists has columns, though its bound was divided by 4.
# Five results are stored in pieces: a masked store would delay loads of the next rows.
--- sums.tc
def sums(float(M,N) A) -> (C) { C(m) +=! A(m,n) }
--- rows.lws
C: m/29 m/9 n/16 m/2 m n:v
--- many.lws
C: m/40 n/16 m/5 m n:v
--- columns.lws
C: m/28 m/5 n/60 n/16 m/2 m n:v
$ for s in rows columns; do loopwright show sums.tc --size M=95,N=333 --schedule $s.lws --isa avx2 --stage report | grep -A1 'for n in' | grep -c shuffle; done
0
0
--- exit 1
$ for s in rows columns; do loopwright run sums.tc --size M=95,N=333 --schedule $s.lws --isa avx2 --check | grep check; done
  check    right: {{.*}}
  check    right: {{.*}}
$ loopwright show sums.tc --size M=95,N=333 --schedule columns.lws --stage asm | grep -c 'ptr \[r[a-z0-9+]*\] {k'
0
--- exit 1
$ loopwright show sums.tc --size M=400,N=160 --schedule many.lws --isa avx2 --stage report | tail -1
    line 5: sums are loaded and stored in every iteration: there are more of them than registers for sums (9)
