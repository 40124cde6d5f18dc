# Figure 3 of the TC paper: what its scheduler makes of sgemm, (b) and (d); and dependences.
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule-tree --mapping naive | sed -n '/(b)/,/(c)/p;/(d)/,$p' | grep -v '^  C.*: 0\|^domain'
# (b) fused
band parallel parallel
  C(i, j) -> (i, j)
  C.1(i, j, k) -> (i, j)
  sequence
    filter C(i, j)
    filter C.1(i, j, k)
      band serial
        C.1(i, j, k) -> (k)

# (c) tiled
# (d) sunk
band parallel parallel
  C(i, j) -> (32*(i/32), 32*(j/32))
  C.1(i, j, k) -> (32*(i/32), 32*(j/32))
  sequence
    filter C(i, j)
      band parallel parallel
        C(i, j) -> (i%32, j%32)
    filter C.1(i, j, k)
      band serial
        C.1(i, j, k) -> (32*(k/32))
        band serial
          C.1(i, j, k) -> (k%32)
          band parallel parallel
            C.1(i, j, k) -> (i%32, j%32)
$ loopwright show @/examples/tc/sgemm.tc --size N=1000,M=500,K=700 --stage schedule --mapping naive
C: i/32:p j/32 | i j:v
C.1: i/32:p j/32 k/32 k i j:v
$ loopwright show @/examples/tc/mv.tc --size M=4,K=3 --stage dependences
# memory-based
flow { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
output { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
# value-based
flow { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
output { C.init[i, k = 0] -> C[i' = i, k'] : 0 <= i <= 3 and 0 <= k' <= 2 }
