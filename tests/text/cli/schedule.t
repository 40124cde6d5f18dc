# A Schedule arranges loops: the same results, other loops; what is meaningless is located.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
}
--- mm.lws
C: m/4:p k/2 n k m:v     # a comment
--- bad.lws
C: m/4:p k/2 q
$ loopwright show mm.tc --size M=10,N=8,K=5 --stage schedule --schedule naive
C: m n k
$ loopwright show mm.tc --size M=100,N=256,K=128 --stage schedule --isa avx512 --threads 2
C: n/64:p m/6:p k m n:v
$ loopwright show mm.tc --size M=100,N=256,K=128 --stage schedule --isa avx2 --threads 2
C: n/16:p m/6 k m n:v
$ loopwright show mm.tc --size M=100,N=256,K=128 --stage schedule --isa avx2 --threads 1
C: n/16 m/6 k m n:v
$ loopwright show mm.tc --size M=10,N=8,K=5 --stage tree --schedule naive
for m in 10
  for n in 8
    C[m, n] = 0.0
    for k in 5
      C[m, n] += A[m, k]*B[k, n]
$ loopwright show mm.tc --size M=10,N=8,K=5 --stage tree --schedule mm.lws --cost
for m in 3 parallel   # touches 680 B, moves 6720 B, 800 flops
  for k in 3   # touches 368 B, moves 2240 B, 267 flops
    for n in 8   # touches 224 B, moves 747 B, 89 flops
      if -k >= 0   # touches 16 B, moves 4 B, 0 flops
        for m.1 in 4 vector where 9 - 4*m - m.1 >= 0   # touches 16 B, moves 13 B, 0 flops
          C[4*m + m.1, n] = 0.0   # touches 4 B, moves 4 B, 0 flops
      for k.1 in 2 where 4 - 2*k - k.1 >= 0   # touches 56 B, moves 89 B, 11 flops
        for m.1 in 4 vector where 9 - 4*m - m.1 >= 0   # touches 36 B, moves 53 B, 7 flops
          C[4*m + m.1, n] += A[4*m + m.1, 2*k + k.1]*B[2*k + k.1, n]   # touches 12 B, moves 16 B, 2 flops
$ loopwright run mm.tc --size M=10,N=8,K=5 | grep checksum
  out      f32(10, 8) C: checksum 9606c3039d2e7506
$ loopwright run mm.tc --size M=10,N=8,K=5 --schedule mm.lws --backend tree | grep checksum
  out      f32(10, 8) C: checksum 9606c3039d2e7506
$ loopwright run mm.tc --size M=10,N=8,K=5 --schedule bad.lws
--- stderr
bad.lws:1:14: error: no iterator 'q' in statement 'C'
  C: m/4:p k/2 q
               ^
note: there are 'm', 'n' and 'k'
--- exit 1
$ loopwright run mm.tc --size M=10,N=8,K=5 --schedule mm.lws --backend interp
--- stderr
error: the back-end 'interp' has no loops to schedule
--- exit 1
$ loopwright show mm.tc --size M=10,N=8,K=5 --schedule none.lws --stage tree
--- stderr
error: cannot open 'none.lws': No such file or directory
--- exit 1
